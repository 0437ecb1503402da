"""Sends rows with QuestDB's client for Python. The arguments are the configuration of the client and the table."""

import sys

from questdb import QuestDBError, Sender, TimestampMicros, TimestampNanos

conf, table = sys.argv[1:]
with Sender.from_conf(conf) as sender:
    sender.row(
        table,
        symbols={"symbol": "BTC-USD", "side": "sell, = é"},
        columns={
            "price": 39269.98,
            "amount": -3,
            "is_last": True,
            "note": 'a "b" \\ c\nd',
            "seen": TimestampMicros(1_700_000_000_000_001),
        },
        at=TimestampNanos(1_700_000_000_000_007_000),
    )
    sender.row(table, symbols={"symbol": "ETH-USD"}, columns={"price": 1e-300}, at=TimestampNanos(1_700_000_000_000_008_000))
    sender.flush()
    try:
        sender.row(table, columns={"is_last": "text"}, at=TimestampNanos(1_700_000_000_000_009_000))
        sender.flush()
    except QuestDBError as error:
        print(error)
