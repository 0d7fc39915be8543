"""The schema as a list of forward steps. A step that has landed is never edited; a change is a new step."""

from typing import NamedTuple


class Migration(NamedTuple):
    """One step, run in a transaction of its own; its number is its place in the list, from 1."""

    name: str
    sql: str


MIGRATIONS = (
    Migration(
        "pool, probe, verdicts, shortlists",
        """
        CREATE TYPE outcome AS ENUM
            ('correct', 'wrong', 'no_answer', 'truncated', 'verifier_error', 'engine_error', 'unknown');
        CREATE TABLE item (item_id VARCHAR NOT NULL, prompt VARCHAR NOT NULL, messages VARCHAR);
        CREATE TABLE pool (
            pool_id VARCHAR PRIMARY KEY, source VARCHAR NOT NULL, n_rows BIGINT NOT NULL, n_items BIGINT NOT NULL,
            imported_at TIMESTAMPTZ NOT NULL);
        CREATE TABLE pool_item (
            pool_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, row BIGINT NOT NULL,
            ids VARCHAR[] NOT NULL, answers VARCHAR[] NOT NULL, columns VARCHAR NOT NULL);
        CREATE TABLE gold (
            item_id VARCHAR NOT NULL, answer VARCHAR NOT NULL, source VARCHAR NOT NULL,
            decided_at TIMESTAMPTZ NOT NULL);
        CREATE TABLE probe_run (
            run_id VARCHAR PRIMARY KEY, pool_id VARCHAR NOT NULL, model VARCHAR NOT NULL, revision VARCHAR NOT NULL,
            engine VARCHAR NOT NULL, config VARCHAR NOT NULL, k INTEGER NOT NULL,
            verifier VARCHAR NOT NULL, verdicts_by VARCHAR NOT NULL,
            created_at TIMESTAMPTZ NOT NULL, used_at TIMESTAMPTZ NOT NULL);
        CREATE TABLE completion (
            run_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, sample_index INTEGER NOT NULL, seed BIGINT,
            text VARCHAR NOT NULL, n_tokens INTEGER, finish_reason VARCHAR, mean_logprob DOUBLE, error VARCHAR,
            source VARCHAR);
        CREATE TABLE verdict (
            run_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, sample_index INTEGER NOT NULL, verifier VARCHAR NOT NULL,
            outcome outcome NOT NULL, extracted VARCHAR, answer_key VARCHAR);
        CREATE TABLE shortlist (
            shortlist_id VARCHAR PRIMARY KEY, number INTEGER NOT NULL, run_id VARCHAR NOT NULL,
            pool_id VARCHAR NOT NULL, policy VARCHAR NOT NULL, budget VARCHAR NOT NULL, settings VARCHAR NOT NULL,
            created_at TIMESTAMPTZ NOT NULL);
        CREATE TABLE shortlist_item (
            shortlist_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, rank INTEGER NOT NULL, score DOUBLE NOT NULL,
            cost DOUBLE NOT NULL);
        CREATE TABLE ledger (
            entered_at TIMESTAMPTZ NOT NULL, kind VARCHAR NOT NULL, reference VARCHAR NOT NULL,
            seconds DOUBLE NOT NULL, tokens BIGINT NOT NULL);
        """,
    ),
)
