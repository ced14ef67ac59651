"""headrace.PythonUdf: a Python function over the records of any connector, as Arrow tables or pandas frames.

udf.py                the transformation and its configuration
reference.py          the text that names a function
function.py           the function: how it is called, and what it may return
function_thread.py    the thread on which it runs, with a time limit
columns.py            types of columns
frames.py             pandas frames
results.py            its results as records
"""
