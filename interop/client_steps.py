"""The steps of a program that shows what works with a client: each line it prints is a part of a row of the table in docs/clients.md."""


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r} is not {expected!r}")


def refuses(message, step, errors=Exception):
    """Runs a step that has to fail with one of these errors, whose text has the message."""
    try:
        step()
    except errors as error:
        if message not in str(error):
            raise
        return
    raise AssertionError(f"No error says {message!r}.")


def run_steps(steps, *args):
    for kind, what, step in steps:
        step(*args)
        print(kind, what, flush=True)
