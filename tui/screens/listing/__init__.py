"""The connector list: rows, filter, orders, marks, and the widget that shows them."""
