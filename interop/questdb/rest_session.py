"""One session of questdb_rest as a library, from another program: prints what each call returns, as a line of JSON."""

import io
import json
import sys

import questdb_rest

port, token, table = sys.argv[1:]
user = {"user": "any", "password": token} if token else {}
client = questdb_rest.QuestDBClient(host="127.0.0.1", port=int(port), **user)

file = io.BytesIO(b"id,name\n1,ab\n2,cd\n")
client.imp(data_file_obj=file, data_file_name="x.csv", table_name=table, overwrite=True).raise_for_status()
print(json.dumps(client.table_exists(table)))
print(json.dumps(client.table_exists("nothing_here")))
print(json.dumps(client.exec(f"select id, name from '{table}' order by id", count=True)))
print(json.dumps(client.exec(f"select id, name from '{table}' order by id", limit="1,1")["dataset"]))
print(json.dumps(client.exec_extract_field(f"select id, name from '{table}' order by id", "name")))
print(json.dumps(client.exp(f"select id, name from '{table}' order by id").text))
try:
    client.exec("select nothing")
except questdb_rest.QuestDBAPIError as error:
    print(json.dumps(error.status_code))
