"""`headrace migrate`: reads what a company's Connect workers run, and plans their move to Headrace. Changes nothing."""
