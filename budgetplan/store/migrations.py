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
    Migration(
        "labels, adjudication, audit slice, ledger of plans",
        """
        CREATE TABLE label (
            item_id VARCHAR NOT NULL, annotator VARCHAR NOT NULL, answer VARCHAR, verdict VARCHAR,
            status VARCHAR NOT NULL, seconds DOUBLE, labeled_at TIMESTAMPTZ, shortlist_id VARCHAR,
            tool VARCHAR NOT NULL, native_id VARCHAR, file_sha256 VARCHAR NOT NULL, place BIGINT NOT NULL,
            raw VARCHAR NOT NULL, ingested_at TIMESTAMPTZ NOT NULL, arrival BIGINT NOT NULL);
        CREATE TABLE label_file (
            sha256 VARCHAR NOT NULL, name VARCHAR NOT NULL, tool VARCHAR NOT NULL, n_labels BIGINT NOT NULL,
            ingested_at TIMESTAMPTZ NOT NULL);
        CREATE TABLE removed_annotator (digest VARCHAR NOT NULL);
        CREATE TABLE removed_label (tool VARCHAR NOT NULL, native_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL);
        CREATE TABLE adjudicated (
            item_id VARCHAR NOT NULL, state VARCHAR NOT NULL, answer VARCHAR, n_annotators INTEGER NOT NULL,
            n_agreeing INTEGER NOT NULL, contradicts_known BOOLEAN NOT NULL);
        CREATE TABLE answer_group (item_id VARCHAR NOT NULL, answer VARCHAR NOT NULL, same_as VARCHAR NOT NULL);
        ALTER TABLE shortlist ADD COLUMN purpose VARCHAR DEFAULT 'selection';
        CREATE VIEW current_label AS
            SELECT label.*, coalesce(purpose = 'another look', false) AS decisive
            FROM label LEFT JOIN (SELECT shortlist_id, purpose FROM shortlist) AS asked USING (shortlist_id)
            QUALIFY row_number() OVER (
                PARTITION BY item_id, annotator
                ORDER BY status = 'submitted' DESC, decisive DESC, coalesce(labeled_at, ingested_at) DESC,
                         arrival DESC, place DESC
            ) = 1;
        CREATE TABLE audit_item (
            pool_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, shortlist_id VARCHAR NOT NULL,
            inclusion DOUBLE NOT NULL);
        ALTER TABLE shortlist_item ADD COLUMN recalled_at TIMESTAMPTZ;
        ALTER TABLE shortlist_item ALTER COLUMN rank DROP NOT NULL;
        ALTER TABLE shortlist_item ALTER COLUMN score DROP NOT NULL;
        ALTER TABLE ledger ADD COLUMN state VARCHAR DEFAULT 'spent';
        ALTER TABLE ledger ADD COLUMN items BIGINT DEFAULT 0;
        ALTER TABLE ledger ADD COLUMN amount DOUBLE DEFAULT 0;
        ALTER TABLE ledger ADD COLUMN unit VARCHAR DEFAULT '';
        INSERT INTO ledger (entered_at, kind, state, reference, seconds, tokens, items, amount, unit)
            SELECT created_at, 'labels', 'planned', shortlist_id,
                   sum(CASE WHEN settings ->> '$.unit' = 'h' THEN 3600 * cost ELSE 0 END), 0, count(*),
                   sum(CASE WHEN settings ->> '$.unit' IN ('items', 'h') THEN 0 ELSE cost END),
                   any_value(CASE WHEN settings ->> '$.unit' IN ('items', 'h') THEN '' ELSE settings ->> '$.unit' END)
            FROM shortlist_item JOIN shortlist USING (shortlist_id) GROUP BY created_at, shortlist_id;
        """,
    ),
    Migration(
        "signals, references, calibration",
        """
        ALTER TABLE probe_run ADD COLUMN role VARCHAR DEFAULT 'base';
        CREATE TABLE same_answer (
            verifier VARCHAR NOT NULL, item_id VARCHAR NOT NULL, answer_key VARCHAR NOT NULL, same_as VARCHAR NOT NULL);
        CREATE TABLE compared_item (verifier VARCHAR NOT NULL, item_id VARCHAR NOT NULL, n_keys INTEGER NOT NULL);
        CREATE TABLE text_similarity (
            run_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, n_samples INTEGER NOT NULL, similarity DOUBLE);
        CREATE TABLE prompt_feature (
            pool_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, components FLOAT[] NOT NULL, near VARCHAR[] NOT NULL);
        CREATE TABLE calibration (
            run_id VARCHAR NOT NULL, pool_id VARCHAR NOT NULL, fitted_at TIMESTAMPTZ NOT NULL, model VARCHAR NOT NULL);
        """,
    ),
    Migration(
        "validation",
        """
        CREATE TABLE validation (
            validation_id VARCHAR PRIMARY KEY, run_id VARCHAR NOT NULL, pool_id VARCHAR NOT NULL,
            settings VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL, verdict VARCHAR);
        CREATE TABLE validation_item (
            validation_id VARCHAR NOT NULL, role VARCHAR NOT NULL, item_id VARCHAR NOT NULL, place INTEGER NOT NULL);
        CREATE TABLE validation_arm (
            validation_id VARCHAR NOT NULL, arm VARCHAR NOT NULL, seed INTEGER NOT NULL, training_id VARCHAR NOT NULL);
        CREATE TABLE validation_run (
            training_id VARCHAR PRIMARY KEY, config VARCHAR NOT NULL, last_step INTEGER NOT NULL,
            stopped VARCHAR NOT NULL,
            seconds DOUBLE NOT NULL, peak_memory_bytes BIGINT NOT NULL, finished_at TIMESTAMPTZ NOT NULL);
        CREATE TABLE validation_metric (
            training_id VARCHAR NOT NULL, step INTEGER NOT NULL, name VARCHAR NOT NULL, value DOUBLE);
        CREATE TABLE validation_group (
            training_id VARCHAR NOT NULL, step INTEGER NOT NULL, position INTEGER NOT NULL, item_id VARCHAR NOT NULL,
            rewards DOUBLE[] NOT NULL, n_truncated INTEGER NOT NULL, mean_tokens DOUBLE NOT NULL);
        CREATE TABLE evaluation (
            training_id VARCHAR NOT NULL, step INTEGER NOT NULL, run_id VARCHAR NOT NULL);
        """,
    ),
    Migration(
        "adaptive probing",
        """
        CREATE TABLE sampling_aim (
            run_id VARCHAR NOT NULL, pool_id VARCHAR NOT NULL, budget VARCHAR NOT NULL, policy VARCHAR NOT NULL,
            PRIMARY KEY (run_id, pool_id));
        CREATE TABLE sample_target (
            run_id VARCHAR NOT NULL, item_id VARCHAR NOT NULL, n_samples INTEGER NOT NULL,
            PRIMARY KEY (run_id, item_id));
        """,
    ),
)
