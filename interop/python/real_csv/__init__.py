"""Real CSV files, put into the server and compared cell by cell with Python's csv module."""
