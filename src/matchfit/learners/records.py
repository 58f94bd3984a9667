"""Schema numbers of the records of a run; raised when a record's meaning changes."""

RUN_SCHEMA = 1  # run.json: all that decides a run's bits
FOLD_SCHEMA = 1  # fold-*/done.json: one finished fit
RECORD_SCHEMA = 1  # record.json: what a run came to
