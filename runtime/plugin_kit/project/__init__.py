"""`headrace plugin new`: the templates of projects, and what is written from them."""
