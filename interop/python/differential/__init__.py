"""The same table through every way in and every way out of the server, judged by pyarrow value by value."""
