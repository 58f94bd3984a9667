"""The Python API: the same steps as the command line.

from matchfit import api
api.inspect("digits").as_text()
result = api.train("digits", assignments=["epochs=5"])
api.predict(result.directory, "digits", "submission.csv")
api.check("submission.csv", "digits").valid
"""

from matchfit.steps.check import check
from matchfit.steps.inspect import Inspection, inspect
from matchfit.steps.predict import Written, predict
from matchfit.steps.train import TrainResult, train

__all__ = ["Inspection", "TrainResult", "Written", "check", "inspect", "predict", "train"]
