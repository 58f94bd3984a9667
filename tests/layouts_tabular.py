"""Tables, time series and recommender competitions as their hosts ship them, small."""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path

import polars as pl

from layout_tools import Expected, asked, hex_ids, put, put_all, spread, table_text, write_json, write_table

TRAIN, TEST = 60, 20


def make_spaceship(folder: Path) -> Expected:
    """True and False as text; a travelling group inside the id; empty cells."""
    rng = random.Random(51)

    def row(n: int) -> tuple[object, ...]:
        home, age = rng.choice(["Earth", "Mars", "Europa", ""]), rng.choice(["", *range(1, 70)])
        return (
            f"{n // 2 + 1:04d}_{n % 2 + 1:02d}",
            home,
            rng.choice(["True", "False", ""]),
            f"B/{n}/P",
            f"{age}.0" if age else "",
            f"{rng.randint(0, 900)}.0",
        )

    header = ["PassengerId", "HomePlanet", "CryoSleep", "Cabin", "Age", "RoomService"]
    train, test = [row(n) for n in range(TRAIN)], [row(n) for n in range(TRAIN, TRAIN + TEST)]
    write_table(
        folder / "train.csv",
        [*header, "Transported"],
        [(*r, y) for r, y in zip(train, spread(["True", "False"], TRAIN, rng), strict=True)],
    )
    write_table(folder / "test.csv", header, test)
    write_table(folder / "sample_submission.csv", ["PassengerId", "Transported"], [(r[0], "False") for r in test])
    return Expected(
        **asked(["PassengerId"], ["Transported"]), modality="tabular", task="binary", targets=("Transported",), classes=("False", "True"),
        form="label", train=TRAIN, test=TEST, train_only=(), train_ids=("0001_01",),
    )  # fmt: skip


def make_playground_2022(folder: Path) -> Expected:
    """A string of ten letters as a feature; a probability."""
    rng = random.Random(52)

    def row(n: int) -> tuple[object, ...]:
        return (
            n,
            *[round(rng.gauss(0, 1), 9) for _ in range(5)],
            rng.randint(0, 9),
            "".join(rng.choice("ABCDEFGH") for _ in range(10)),
        )

    header = ["id", *[f"f_{n:02d}" for n in range(5)], "f_07", "f_27"]
    write_table(folder / "train.csv", [*header, "target"], [(*row(n), n * 7 % 3 % 2) for n in range(TRAIN)])
    write_table(folder / "test.csv", header, [row(900000 + n) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["id", "target"], [(900000 + n, 0.5) for n in range(TEST)])
    return Expected(
        **asked(["id"], ["target"]), modality="tabular", task="binary", targets=("target",), classes=("0", "1"), form="probability",
        train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_enzyme(folder: Path) -> Expected:
    """Six targets in train, two are asked for; the others are no features."""
    rng = random.Random(53)
    header, targets = ["id", "BertzCT", "Chi1", "EState_VSA1"], [f"EC{n}" for n in range(1, 7)]

    def row(n: int) -> tuple[object, ...]:
        return n, round(rng.uniform(50, 900), 4), round(rng.uniform(1, 20), 5), round(rng.uniform(0, 60), 3)

    write_table(folder / "train.csv", [*header, *targets], [(*row(n), *[rng.randint(0, 1) for _ in targets]) for n in range(TRAIN)])
    write_table(folder / "test.csv", header, [row(14838 + n) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["id", "EC1", "EC2"], [(14838 + n, 0.5, 0.5) for n in range(TEST)])
    return Expected(
        **asked(["id"], ["EC1", "EC2"]), modality="tabular", task="multilabel", targets=("EC1", "EC2"), classes=("EC1", "EC2"),
        form="class_scores", train=TRAIN, test=TEST, train_only=("EC3", "EC4", "EC5", "EC6"),
    )  # fmt: skip


def make_taxi_fare(folder: Path) -> Expected:
    """The key is a timestamp text with a number behind the point."""
    rng = random.Random(54)

    def row(n: int) -> tuple[object, ...]:
        time = datetime.datetime(2010, 1, 5) + datetime.timedelta(minutes=rng.randint(0, 2_500_000))
        place = [round(-73.98 + rng.gauss(0, 0.03), 6), round(40.75 + rng.gauss(0, 0.03), 6)] * 2
        return f"{time:%Y-%m-%d %H:%M:%S}.{n:07d}", f"{time:%Y-%m-%d %H:%M:%S} UTC", *place, rng.randint(1, 6)

    shared = ["pickup_datetime", "pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude", "passenger_count"]
    train, test = [row(n) for n in range(TRAIN)], [row(n + 1) for n in range(TEST)]
    write_table(
        folder / "train.csv", ["key", "fare_amount", *shared], [(r[0], round(rng.uniform(3, 60), 1), *r[1:]) for r in train]
    )
    write_table(folder / "test.csv", ["key", *shared], test)
    write_table(folder / "sample_submission.csv", ["key", "fare_amount"], [(r[0], 11.35) for r in test])
    return Expected(
        **asked(["key"], ["fare_amount"]), modality="tabular", task="regression", targets=("fare_amount",), classes=(), form="value",
        train=TRAIN, test=TEST, train_only=(), train_ids=(str(train[0][0]),),
    )  # fmt: skip


def make_scalar_coupling(folder: Path) -> Expected:
    """Side tables for train only; molecules belong together."""
    rng = random.Random(55)

    def row(n: int, first: int) -> tuple[object, ...]:
        return n, f"dsgdb9nsd_{first + n % 100 // 5:06d}", n % 5, n % 3 + 5, ["1JHC", "2JHH", "3JHN"][n % 3]

    header = ["id", "molecule_name", "atom_index_0", "atom_index_1", "type"]
    train, test = [row(n, 1) for n in range(TRAIN)], [row(4658100 + n, 700) for n in range(TEST)]
    write_table(folder / "train.csv", [*header, "scalar_coupling_constant"], [(*r, round(rng.gauss(20, 30), 4)) for r in train])
    write_table(folder / "test.csv", header, test)
    write_table(folder / "structures.csv", ["molecule_name", "atom_index", "atom", "x", "y", "z"],
                [(r[1], a, "CHN"[a], rng.random(), rng.random(), rng.random()) for r in train[::5] + test[::5] for a in range(3)])  # fmt: skip
    write_table(
        folder / "dipole_moments.csv", ["molecule_name", "X", "Y", "Z"], [(r[1], 0.1, 0.2, rng.random()) for r in train[::5]]
    )
    write_table(folder / "sample_submission.csv", ["id", "scalar_coupling_constant"], [(r[0], 0) for r in test])
    return Expected(
        **asked(["id"], ["scalar_coupling_constant"]), modality="tabular", task="regression", targets=("scalar_coupling_constant",), classes=(),
        form="value", train=TRAIN, test=TEST, split="group", by=("molecule_name",), train_only=(),
    )  # fmt: skip


def make_pulmonary(folder: Path) -> Expected:
    """The id is made of patient and week; a prediction and its uncertainty; patients belong together; scans beside the table."""
    rng = random.Random(56)
    patients = hex_ids("ID", 16, 12)

    def rows(names: list[str], weeks: range) -> list[tuple[object, ...]]:
        return [
            (f"ID{name}", week, rng.randint(1800, 4200), round(rng.uniform(50, 110), 3), 60 + len(name), "Male", "Ex-smoker")
            for name in names
            for week in weeks
        ]

    header = ["Patient", "Weeks", "FVC", "Percent", "Age", "Sex", "SmokingStatus"]
    write_table(folder / "train.csv", header, rows(patients[:12], range(0, 30, 6)))
    write_table(folder / "test.csv", header, rows(patients[12:], range(1)))
    asked_for = [(f"ID{name}_{week}", 2000, 100) for name in patients[12:] for week in range(-12, 13, 4)]
    write_table(folder / "sample_submission.csv", ["Patient_Week", "FVC", "Confidence"], asked_for)
    for n, name in enumerate(patients):
        put(folder / ("train" if n < 12 else "test") / f"ID{name}" / "1.dcm", b"\0" * 128 + b"DICM")
    return Expected(
        **asked(["Patient_Week"], ["FVC", "Confidence"]), modality=("tabular", "image"), task=("regression", "multiregression", "other"),
        targets=("FVC",),
        classes=(), form=None, train=60, test=len(asked_for), split="group", by=("Patient",),
    )  # fmt: skip


def make_covid_vaccine(folder: Path) -> Expected:
    """json lines of sequences under the name .json; a line of the submission a position."""
    rng = random.Random(57)
    columns = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]

    def record(n: int) -> dict[str, object]:
        return {
            "index": n,
            "id": f"id_{hex_ids('cv', n + 1, 9)[n]}",
            "sequence": "".join(rng.choice("ACGU") for _ in range(8)),
            "seq_length": 8,
            "seq_scored": 5,
        }

    train = [record(n) | {column: [round(rng.gauss(0.4, 0.3), 4) for _ in range(5)] for column in columns} for n in range(24)]
    test = [record(100 + n) for n in range(6)]
    for name, records in (("train", train), ("test", test)):
        lines = "".join(f"{json.dumps(line)}\n" for line in records)
        put(folder / f"{name}.json", lines.encode())
    write_table(
        folder / "sample_submission.csv", ["id_seqpos", *columns], [(f"{r['id']}_{p}", *[0] * 5) for r in test for p in range(8)]
    )
    return Expected(
        **asked(["id_seqpos"], columns), modality="tabular", task=("multiregression", "other"), targets=tuple(columns), classes=(), form=None,
        train=None, test=None,
    )  # fmt: skip


def make_player_contact(folder: Path) -> Expected:
    """A composite id; tracking tables beside the labels; no test table of the labels' kind."""
    rng = random.Random(58)

    def ids(game: int, count: int) -> list[str]:
        return [f"{game}_003392_{step}_38590_{rng.choice(['43854', 'G', '41257'])}" for step in range(count)]

    train, test = ids(58168, TRAIN), ids(58187, TEST)
    write_table(folder / "train_labels.csv", ["contact_id", "game_play", "datetime", "step", "nfl_player_id_1", "nfl_player_id_2", "contact"],
                [(name, "58168_003392", f"2020-09-11T03:01:{n % 60:02d}.100Z", n, 38590, name.split("_")[-1], y)
                 for n, (name, y) in enumerate(zip(train, spread("0001", TRAIN, rng), strict=True))])  # fmt: skip
    for side, game in (("train", 58168), ("test", 58187)):
        write_table(folder / f"{side}_player_tracking.csv", ["game_play", "nfl_player_id", "step", "x_position", "speed"],
                    [(f"{game}_003392", 38590, step, round(rng.random() * 100, 2), round(rng.random() * 5, 2)) for step in range(30)])  # fmt: skip
    write_table(folder / "sample_submission.csv", ["contact_id", "contact"], [(name, 0) for name in test])
    return Expected(
        **asked(["contact_id"], ["contact"]), modality="tabular", task="binary", targets=("contact",), classes=("0", "1"),
        form=("label", "probability"), train=TRAIN, test=TEST, test_ids=(test[0],),
    )  # fmt: skip


def make_brain_activity(folder: Path) -> Expected:
    """Votes to be normalised, several rows an id, patients, a parquet file a recording."""
    rng = random.Random(59)
    votes = [f"{name}_vote" for name in ("seizure", "lpd", "gpd", "lrda", "grda", "other")]
    rows = [
        (1628180742 + n // 2, n % 2, 353733 + n // 2, 42516 + n // 6, "Seizure", *[rng.choice([0, 0, 1, 3]) for _ in votes[:-1]], 1)
        for n in range(TRAIN)
    ]
    header = ["eeg_id", "eeg_sub_id", "spectrogram_id", "patient_id", "expert_consensus"]
    write_table(folder / "train.csv", [*header, *votes], rows)
    write_table(
        folder / "test.csv",
        ["spectrogram_id", "eeg_id", "patient_id"],
        [(853520 + n, 3911565283 + n, 6885 + n) for n in range(TEST)],
    )
    write_table(folder / "sample_submission.csv", ["eeg_id", *votes], [(3911565283 + n, *[0.166666667] * 6) for n in range(TEST)])
    signal = pl.DataFrame({"Fp1": [0.5, 1.0, -3.25], "F3": [1.0, 2.0, 3.0]})
    for side, ids in (("train", sorted({row[0] for row in rows})), ("test", range(3911565283, 3911565283 + TEST))):
        (folder / f"{side}_eegs").mkdir(parents=True)
        for name in ids:
            signal.write_parquet(folder / f"{side}_eegs" / f"{name}.parquet")
    return Expected(
        **asked(["eeg_id"], votes), modality=("tabular", "audio"), task=("multiclass", "multiregression", "multilabel", "other"),
        targets=tuple(votes), classes=None,
        form=("class_scores", "values"), train=None, test=TEST, split=("group", "stratified_group"), by=("patient_id",), test_ids=("3911565283",),
    )  # fmt: skip


def make_volcano(folder: Path) -> Expected:
    """One csv file a sample."""
    rng = random.Random(60)
    train, test = [rng.randint(10**6, 2 * 10**9) for _ in range(24)], [rng.randint(10**6, 2 * 10**9) for _ in range(8)]
    signal = table_text([f"sensor_{n}" for n in range(1, 4)], [(1.0, "", -5.0), (2.0, 7.0, 3.0)]).encode()
    write_table(folder / "train.csv", ["segment_id", "time_to_eruption"], [(name, rng.randint(10**4, 4 * 10**7)) for name in train])
    write_table(folder / "sample_submission.csv", ["segment_id", "time_to_eruption"], [(name, 0) for name in test])
    put_all(folder / "train", {f"{name}.csv": signal for name in train})
    put_all(folder / "test", {f"{name}.csv": signal for name in test})
    return Expected(
        **asked(["segment_id"], ["time_to_eruption"]), modality="tabular", task="regression", targets=("time_to_eruption",), classes=(),
        form="value", train=24, test=8,
    )  # fmt: skip


def make_neutrino(folder: Path) -> Expected:
    """Parquet tables, two angles for an event."""
    rng = random.Random(61)

    def frame(start: int, count: int) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "batch_id": [1] * count,
                "event_id": range(start, start + count),
                "first_pulse_index": range(0, 60 * count, 60),
                "charge": [rng.random() for _ in range(count)],
            }
        )

    angles = {"azimuth": [rng.uniform(0, 6.28) for _ in range(TRAIN)], "zenith": [rng.uniform(0, 3.14) for _ in range(TRAIN)]}
    folder.mkdir(exist_ok=True)
    frame(24, TRAIN).with_columns(**{name: pl.Series(values) for name, values in angles.items()}).write_parquet(
        folder / "train_meta.parquet"
    )
    frame(2092, TEST).write_parquet(folder / "test_meta.parquet")
    pl.DataFrame({"event_id": range(2092, 2092 + TEST), "azimuth": 1.0, "zenith": 1.0}).write_parquet(
        folder / "sample_submission.parquet"
    )
    return Expected(
        **asked(["event_id"], ["azimuth", "zenith"]), modality="tabular", task="multiregression", targets=("azimuth", "zenith"), classes=(),
        form="values", train=TRAIN, test=TEST, train_only=(), test_ids=("2092",),
    )  # fmt: skip


def make_decimeter(folder: Path) -> Expected:
    """Two key columns, two coordinates."""
    rng = random.Random(62)

    def row(n: int, trip: str) -> tuple[object, ...]:
        return f"2020-0{trip}-SJC/Pixel{4 + n % 2}", 1589494761445 + 1000 * n, round(rng.gauss(0, 5), 3), round(rng.gauss(0, 9), 3)

    header = ["tripId", "UnixTimeMillis", "Svid", "Doppler"]
    train, test = [row(n, str(5 + n % 4)) for n in range(TRAIN)], [row(n, "9") for n in range(TEST)]
    places = [(round(37.4 + rng.gauss(0, 0.1), 7), round(-122.1 + rng.gauss(0, 0.1), 7)) for _ in train]
    write_table(
        folder / "train.csv",
        [*header, "LatitudeDegrees", "LongitudeDegrees"],
        [(*r, *p) for r, p in zip(train, places, strict=True)],
    )
    write_table(folder / "test.csv", header, test)
    write_table(
        folder / "sample_submission.csv",
        [*header[:2], "LatitudeDegrees", "LongitudeDegrees"],
        [(*r[:2], 37.9, -122.5) for r in test],
    )
    return Expected(
        **asked(["tripId", "UnixTimeMillis"], ["LatitudeDegrees", "LongitudeDegrees"]), modality="tabular", task="multiregression",
        targets=("LatitudeDegrees", "LongitudeDegrees"), classes=(), form="values", train=TRAIN, test=TEST, train_only=(),
    )  # fmt: skip


def make_notebook_order(folder: Path) -> Expected:
    """Orders of cells as lists of ids, separated by blanks; a json file an item."""
    names = {side: hex_ids(f"nb{side}", count, 14) for side, count in (("train", 24), ("test", 8))}
    cells = {name: hex_ids(name, 5, 8) for group in names.values() for name in group}
    for side, group in names.items():
        for name in group:
            write_json(
                folder / side / f"{name}.json",
                {"cell_type": dict.fromkeys(cells[name], "code"), "source": dict.fromkeys(cells[name], "x = 1")},
            )
    write_table(
        folder / "train_orders.csv", ["id", "cell_order"], [(name, " ".join(sorted(cells[name]))) for name in names["train"]]
    )
    write_table(
        folder / "train_ancestors.csv",
        ["id", "ancestor_id", "parent_id"],
        [(name, n // 2, "") for n, name in enumerate(names["train"])],
    )
    write_table(folder / "sample_submission.csv", ["id", "cell_order"], [(name, " ".join(cells[name])) for name in names["test"]])
    return Expected(
        **asked(["id"], ["cell_order"]), modality=("text", "tabular"), task=("ranking", "other"),
        targets=("cell_order",), classes=(), form=("other", "ranked_list"),
        train=24, test=8,
    )  # fmt: skip


def make_income(folder: Path) -> Expected:
    """adult-income in kind: names as classes, `?` for unknown, numbers and categories."""
    rng = random.Random(63)

    def row(n: int) -> tuple[object, ...]:
        return (
            n,
            rng.randint(17, 90),
            rng.choice(["Private", "State-gov", "?"]),
            rng.randint(10**4, 10**6),
            rng.choice(["HS-grad", "11th", "Bachelors"]),
            rng.choice([0, 0, 2174]),
        )

    header = ["id", "age", "workclass", "fnlwgt", "education", "capital_gain"]
    write_table(
        folder / "train.csv",
        [*header, "income"],
        [(*row(n), y) for n, y in enumerate(spread(["<=50K", "<=50K", ">50K"], TRAIN, rng))],
    )
    write_table(folder / "test.csv", header, [row(TRAIN + n) for n in range(TEST)])
    write_table(folder / "sample_submission.csv", ["id", "income"], [(TRAIN + n, "<=50K") for n in range(TEST)])
    return Expected(
        **asked(["id"], ["income"]), modality="tabular", task="binary", targets=("income",), classes=("<=50K", ">50K"), form="label",
        train=TRAIN, test=TEST, split="stratified", train_only=(),
    )  # fmt: skip


def make_bike_sharing(folder: Path) -> Expected:
    """Hours as ids; the first days of every month train, the last test; two columns that add up to the target."""
    rng = random.Random(64)

    def row(month: int, day: int, hour: int) -> tuple[object, ...]:
        return (
            f"2011-{month:02d}-{day:02d} {hour:02d}:00:00",
            (month + 2) // 3,
            int(rng.random() < 0.7),
            round(rng.uniform(2, 35), 2),
            rng.randint(20, 100),
        )

    header = ["datetime", "season", "workingday", "temp", "humidity"]
    train = [row(month, day, hour) for month in (1, 2, 3) for day in (1, 7, 13, 19) for hour in range(0, 24, 4)]
    test = [row(month, day, hour) for month in (1, 2, 3) for day in (20, 26) for hour in range(0, 24, 6)]
    parts = [(rng.randint(0, 60), rng.randint(0, 200)) for _ in train]
    write_table(
        folder / "train.csv",
        [*header, "casual", "registered", "count"],
        [(*r, a, b, a + b) for r, (a, b) in zip(train, parts, strict=True)],
    )
    write_table(folder / "test.csv", header, test)
    write_table(folder / "sampleSubmission.csv", ["datetime", "count"], [(r[0], 0) for r in test])
    return Expected(
        **asked(["datetime"], ["count"]), modality="tabular", task="regression", targets=("count",), classes=(), form="value",
        train=72, test=24, split="time", by=("datetime",), train_only=("casual", "registered"),
    )  # fmt: skip


def make_movielens(folder: Path) -> Expected:
    """Ratings of films by users; the last of every user are test; titles and tags beside."""
    rng = random.Random(65)
    events = [
        (user, rng.randint(1, 40), 10**9 + 10**6 * user + 500 * n, rng.choice([0.5, 1.0, 2.5, 3.0, 3.5, 4.0, 5.0]))
        for user in range(1, 13)
        for n in range(10)
    ]
    train = [event for n, event in enumerate(events) if n % 10 < 8]
    test = [event for n, event in enumerate(events) if n % 10 >= 8]
    rng.shuffle(train)
    write_table(
        folder / "train.csv", ["id", "userId", "movieId", "timestamp", "rating"], [(n, *event) for n, event in enumerate(train)]
    )
    write_table(
        folder / "test.csv",
        ["id", "userId", "movieId", "timestamp"],
        [(len(train) + n, *event[:3]) for n, event in enumerate(test)],
    )
    write_table(
        folder / "movies.csv",
        ["movieId", "title", "genres"],
        [(n, f"Film {n}, The (19{50 + n})", "Comedy|Drama") for n in range(1, 41)],
    )
    write_table(
        folder / "tags.csv",
        ["userId", "movieId", "tag", "timestamp"],
        [(event[0], event[1], "funny", event[2]) for event in train[:10]],
    )
    write_table(folder / "sample_submission.csv", ["id", "rating"], [(len(train) + n, 3.5) for n in range(len(test))])
    return Expected(
        **asked(["id"], ["rating"]), modality="recommender", task="regression", targets=("rating",), classes=(), form="value",
        train=96, test=24, split="time", train_only=(),
    )  # fmt: skip


LAYOUTS = {name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")}
