"""Scripts: the grammar of commands, their execution and output, and shell completion. Never imports Textual."""
