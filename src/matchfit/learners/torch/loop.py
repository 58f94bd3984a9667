"""The training loop. All of it: evaluate? save? stop? step, log."""

from __future__ import annotations

from matchfit.learners.torch.job import Job


def train(job: Job) -> None:
    """Run `job` from where its progress stands to its end. Whatever happens in between, what was saved last can be gone on from."""
    with job.feed() as batches:
        while True:
            job.watch_the_clock()
            if job.evaluation_is_due():
                job.evaluate()
            if job.save_is_due():
                job.save()
            if job.is_over():
                return
            job.step(next(batches))
            job.log()
