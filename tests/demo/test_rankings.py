import numpy as np

from budgetplan.demo.rankings import ranking_of


def by_rank(project):
    return project.rank().table.select(["item_id", "id"]).to_pylist()


def test_a_ranking_is_what_rank_ranks_by_before_and_after_labels(probe_sums, tmp_path):
    project = probe_sums(12)
    cold, ranked = ranking_of(project.store), by_rank(project)
    places = dict(zip(cold.item_id.to_pylist(), cold.place, strict=True))
    assert [places[row["item_id"]] for row in ranked] == sorted(cold.place)
    assert not cold.answered.any()
    assert np.isnan(cold.p_mean).all()
    assert np.array_equal(cold.blind, cold.place)
    assert len(set(cold.agreement)) > 1

    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["item_id,answer", *(f"{r['item_id']},{2 * int(r['id'][1:])}" for r in ranked[:7])]))
    project.ingest([labels], annotator="ana")
    warm, ranked = ranking_of(project.store), by_rank(project)
    places = dict(zip(warm.item_id.to_pylist(), warm.place, strict=True))
    assert [places[row["item_id"]] for row in ranked] == sorted(warm.place)
    assert warm.answered.sum() == 7
    assert np.isfinite(warm.p_mean).all()
    assert np.array_equal(warm.blind[~warm.answered], warm.place[~warm.answered])
    assert not np.isclose(warm.blind[warm.answered], warm.place[warm.answered]).any()


def test_where_every_answer_is_known_the_ranking_is_the_verified_one(probe_sums):
    known = ranking_of(probe_sums(8, answers=True).store)
    assert known.answered.all()
    assert np.array_equal(known.place, known.p_mean)
    assert np.array_equal(np.sort(known.p_hat), [0, 0, 0, 0, 0.25, 0.5, 0.75, 1])
    assert np.isnan(known.agreement).all()
