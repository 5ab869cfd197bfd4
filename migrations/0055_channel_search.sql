-- Kept channels are found by what their titles and handles contain, without asking YouTube.

CREATE FUNCTION channel_search_form(title text, handle text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN search_lines(array_remove(ARRAY[title, handle], NULL));

-- The costs are high so that no plan works out the keys of rows instead of reading the index.
CREATE FUNCTION channel_keys(title text, handle text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path FROM CURRENT
RETURN text_keys(channel_search_form(title, handle));

CREATE INDEX channels_found ON channels USING gin (channel_keys(title, handle));

-- The ids of channels that contain all words of a query: first those that are called so, then those whose names begin so, each
-- by their subscribers. A word that very many have is looked for among 1,000 of them.
CREATE FUNCTION search_channels(query text, oldest timestamptz, most bigint) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 20 SET jit = off SET enable_seqscan = off AS $$
DECLARE
  form text;
  whole constant text := search_form(query);
  words text[] := '{}';
  patterns text[] := '{}';
BEGIN
  FOREACH form IN ARRAY string_to_array(whole, ' ') LOOP
    words := words || search_word(form);
    patterns := patterns || array_remove(ARRAY[search_pattern(form)], NULL);
  END LOOP;
  IF words = '{}' THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT found.id FROM (
      SELECT c.id, c.subscribers, search_form(c.title) AS title FROM channels c
      WHERE channel_keys(c.title, c.handle) @> word_keys(words) AND c.fetched_at > oldest
        AND has_words(channel_search_form(c.title, c.handle), words, patterns)
      LIMIT 1000) found
    ORDER BY CASE WHEN found.title = whole THEN 0 WHEN starts_with(found.title, whole) THEN 1 ELSE 2 END,
      found.subscribers DESC NULLS LAST, found.id
    LIMIT most;
END $$;

-- down

DROP FUNCTION search_channels(text, timestamptz, bigint);
DROP INDEX channels_found;
DROP FUNCTION channel_keys(text, text);
DROP FUNCTION channel_search_form(text, text);
