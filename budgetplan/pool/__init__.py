"""Items in: files of prompts, and of completions sampled elsewhere, as Arrow tables. Identity is content.

A pool's `columns` keep the user's other fields as JSON; under DUPLICATES_KEY stand those of later rows of the same
prompt, where they differ from the first row's.
"""
