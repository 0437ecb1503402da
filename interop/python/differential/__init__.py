"""The same table through every way in and every way out of the server, compared with pyarrow value by value."""
