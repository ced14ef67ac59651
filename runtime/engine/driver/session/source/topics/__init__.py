"""Queries over topics.

query.py         the views of the topics and the query over them
data_source.py   topics as a data source of Spark, whose methods run in Spark's Python processes
views.py         the columns of a view
continuation.py  whether a changed query may continue from the state of the one before
"""
