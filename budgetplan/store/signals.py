"""Label-free signals of items, and the similarity of an item's texts, which is kept because it is slow to compute.

Invariant: gold never enters. A signal reads answers, texts and log-probabilities, and of an outcome only whether the
sample failed, so an item has the same signals before and after its answer is known, unless the comparison itself fails.
"""

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar

CHARACTERS_READ = 20_000
"""So much of the beginning of one text is compared with the other texts of its item."""

SAMPLES_READ = 64
"""Samples from this index on are not compared: a word's samples are the bits of one number."""

BATCH_CHARACTERS = 32_000_000
"""Texts are compared in batches of about this size, which bounds the memory whatever the number of items."""

_SAID = """
    SELECT v.item_id, coalesce(same_as, v.answer_key) AS answer, finish_reason = 'length' AS cut_off,
           length(text) AS length, CASE WHEN isfinite(mean_logprob) THEN mean_logprob END AS logprob
    FROM (SELECT item_id, sample_index, answer_key FROM verdict
          WHERE run_id = $run AND verifier = $verifier AND (NOT $first_only OR sample_index = 0)
            AND outcome NOT IN ('engine_error', 'verifier_error')) AS v
    JOIN (SELECT * FROM completion WHERE run_id = $run) AS c USING (item_id, sample_index)
    LEFT JOIN (SELECT * FROM same_answer WHERE verifier = $verifier) AS s
      ON s.item_id = v.item_id AND s.answer_key = v.answer_key"""

_GIVEN = """
    SELECT item_id, answer, count(*) AS n, count(*) FILTER (cut_off) AS n_cut_off, sum(length) AS length,
           sum(length * length) AS squares, sum(logprob) AS logprob, count(logprob) AS n_logprob
    FROM said GROUP BY item_id, answer"""

_SIGNAL = """
    SELECT item_id, sum(n)::BIGINT AS n_samples,
           coalesce(max(n) FILTER (answer IS NOT NULL), 0) / sum(n) AS agreement,
           abs(round(ln(sum(n)) - coalesce(sum(n * ln(n)) FILTER (answer IS NOT NULL), 0) / sum(n), 12))
               AS answer_entropy,
           count(answer) AS n_answers,
           coalesce(sum(n - n_cut_off) FILTER (answer IS NULL), 0) / sum(n) AS no_answer_rate,
           coalesce(sum(n_cut_off) FILTER (answer IS NULL), 0) / sum(n) AS truncation_rate,
           sum(length) / sum(n) AS mean_length,
           coalesce(sqrt(sum(n) * sum(squares) - sum(length) * sum(length)) / nullif(sum(length), 0), 0)
               AS length_spread,
           round(sum(logprob) / sum(n_logprob), 12) AS mean_logprob
    FROM given GROUP BY item_id"""

_STALE = """
    SELECT item_id, n_texts, n_read, n_characters
    FROM (SELECT item_id FROM pool_item WHERE pool_id = $pool)
    LEFT JOIN (
        SELECT item_id, count(*) AS n_texts, count(*) FILTER (sample_index < $samples) AS n_read,
               sum(least(length(text), $characters)) AS n_characters
        FROM completion WHERE run_id = $run AND finish_reason IS DISTINCT FROM 'error' GROUP BY item_id
    ) USING (item_id)
    LEFT JOIN (SELECT item_id, n_samples FROM text_similarity WHERE run_id = $run) USING (item_id)
    WHERE coalesce(n_texts, 0) <> coalesce(n_samples, 0)"""


def item_signals(
    connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str, verifier: str, *, first_only: bool = False
) -> pa.Table:
    """Every item of a pool with its signals, in file order; null where no sample says anything (`n_samples` = 0).

    A sample that failed (`engine_error`, `verifier_error`) does not count. Columns, beside `item_id`:

    - `prompt_length`: characters.
    - `agreement`: share of the most frequent answer, equal answers in other words (`same_answer`) being one; a sample
      without an answer disagrees with every other.
    - `answer_entropy`: in nats, each sample without an answer being an answer of its own.
    - `n_answers`: distinct answers, samples without one left out.
    - `no_answer_rate`, `truncation_rate`: shares of the samples without an answer that ended by themselves, and that
      were cut off at the token limit. Together they are all samples without an answer; one that was cut off behind
      its answer is in neither.
    - `mean_length`, `length_spread`: characters, and their population standard deviation over their mean.
    - `mean_logprob`: mean over the samples that have one; null for none.
    - `text_similarity`: as `write_similarity` left it; null where it is missing.

    With `first_only`, sample 0 is all there is, so `text_similarity` is null. Sums of logarithms are rounded to 12
    places: items that tie must tie exactly, in whatever order their samples are read.
    """
    return connection.sql(
        f"""WITH said AS ({_SAID}), given AS ({_GIVEN}), signal AS ({_SIGNAL})
            SELECT p.item_id, length(prompt) AS prompt_length, signal.* EXCLUDE (item_id)
                       REPLACE (coalesce(n_samples, 0) AS n_samples),
                   CASE WHEN n_samples > 0 AND NOT $first_only THEN similarity END AS text_similarity
            FROM (SELECT item_id, row FROM pool_item WHERE pool_id = $pool) AS p
            JOIN item USING (item_id)
            LEFT JOIN signal USING (item_id)
            LEFT JOIN (SELECT item_id, similarity FROM text_similarity WHERE run_id = $run) USING (item_id)
            ORDER BY row, p.item_id""",
        params={"run": run_id, "pool": pool_id, "verifier": verifier, "first_only": first_only},
    ).to_arrow_table()


def similarity_is_current(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str) -> bool:
    """Whether `write_similarity` would have nothing to do; reads no text."""
    return not scalar(connection, f"SELECT EXISTS ({_STALE})", _bounds(run_id, pool_id))


def write_similarity(
    connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str, most_batches: int | None = None
) -> int:
    """Bring `text_similarity` up to date for a pool's items and return the number of rows written.

    With `most_batches` only so many batches of texts are looked at, so that the store is not locked for long; it is up
    to date when nothing was written.

    An item is up to date while the number of its texts that did not fail is the stored `n_samples`. Similarity is the
    chance that a word of one sample is in another sample of the item: with c_w the number of samples that hold word w
    and k samples, sum c_w (c_w - 1) / ((k - 1) sum c_w); null for fewer than two samples or no word. Words are runs of
    letters, digits and underscores, in lower case.
    """
    n_batches = _queue_stale(connection, run_id, pool_id)
    n_batches = n_batches if most_batches is None else min(n_batches, most_batches)
    connection.execute(
        "DELETE FROM text_similarity WHERE run_id = ? AND item_id IN (SELECT item_id FROM stale_item WHERE batch < ?)",
        [run_id, n_batches],
    )
    n_written = sum(_write_batch(connection, run_id, batch) for batch in range(n_batches))
    connection.execute("DROP TABLE stale_item")
    return n_written


def _queue_stale(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str) -> int:
    """List the items that are out of date as `stale_item`, in batches that are ranges of ids; how many batches."""
    connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE stale_item AS
            SELECT item_id, n_texts, n_read, row_number() OVER (ORDER BY item_id)::INTEGER AS number,
                   coalesce(sum(n_characters) OVER (ORDER BY item_id) // {BATCH_CHARACTERS}, 0)::INTEGER AS batch
            FROM ({_STALE})""",
        _bounds(run_id, pool_id),
    )
    return int(scalar(connection, "SELECT coalesce(max(batch) + 1, 0) FROM stale_item"))


def _write_batch(connection: duckdb.DuckDBPyConnection, run_id: str, batch: int) -> int:
    written = scalar(
        connection,
        # DuckDB's \w knows ASCII only, and a hash in place of each word keeps the groups small.
        r"""WITH queued AS (SELECT * FROM stale_item WHERE batch = $batch AND n_texts > 0),
           word AS (
               SELECT number, 1::UBIGINT << sample_index AS sample,
                      unnest(regexp_extract_all(lower(left(text, $characters)), '[\p{L}\p{N}_]+')) AS word
               FROM completion JOIN queued USING (item_id)
               WHERE run_id = $run AND sample_index < $samples AND finish_reason IS DISTINCT FROM 'error'),
           held AS (SELECT number, bit_count(bit_or(sample))::BIGINT AS n FROM word GROUP BY number, hash(word)),
           shared AS (SELECT number, sum(n * (n - 1)) AS n_pairs, sum(n) AS n_words FROM held GROUP BY number)
           INSERT INTO text_similarity
           SELECT $run, item_id, n_texts, CASE WHEN n_read > 1 THEN n_pairs / ((n_read - 1) * n_words) END
           FROM queued LEFT JOIN shared USING (number)""",
        {"run": run_id, "batch": batch, "characters": CHARACTERS_READ, "samples": SAMPLES_READ},
    )
    return int(written)


def _bounds(run_id: str, pool_id: str) -> dict[str, str | int]:
    return {"run": run_id, "pool": pool_id, "characters": CHARACTERS_READ, "samples": SAMPLES_READ}
