"""The front door without a screen: grammar, running, printing. Never imports Textual."""
