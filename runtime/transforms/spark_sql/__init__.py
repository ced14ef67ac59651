"""headrace.SparkSql: a query of Spark over the records of any connector.

sql.py             the transformation and its configuration
query.py           what a query needs and gives for records with certain columns
results.py         results of Spark as records
spark.py           requests to the worker's Spark session
"""
