-- Searches read as many small blocks as fill a page.
--
-- A word that all but fills its page in the newest small block fills it in the next one or two. Large blocks hold about
-- thirty times as many rows with that word, and a search of them reads and sorts all of these.

-- Whether a search that found so few rows goes on in the large blocks. The estimate scales what was found to a whole
-- small block; a few thousand rows are too few for it.
CREATE FUNCTION is_rare(found bigint, looked_at bigint, most bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN looked_at > 4096 AND most > ((found << 15) / looked_at) * ((found << 15) / looked_at + 2);

-- As before, in PL/pgSQL: a function in SQL that cannot be inlined is planned once a transaction, not once a session.
CREATE OR REPLACE FUNCTION search_word(form text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN CASE WHEN form ~ ('[ㄱ-ㅎ]' COLLATE "C") THEN search_initials(form) ELSE form END;
END $$;

CREATE OR REPLACE FUNCTION search_posts(query text, past bigint, most bigint)
RETURNS TABLE (place bigint, post bigint)
LANGUAGE plpgsql STABLE ROWS 20
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  form text;
  words text[] := '{}';
  patterns text[] := '{}';
  keys bigint[];
  nearest bigint;
  given bigint;
  block bigint;
  looked_at bigint;
BEGIN
  past := least(past, coalesce((SELECT max(number) + 1 FROM searched_posts), 0));
  FOREACH form IN ARRAY string_to_array(search_form(query), ' ') LOOP
    words := words || search_word(form);
    patterns := patterns || array_remove(ARRAY[search_pattern(form)], NULL);
  END LOOP;
  IF words = '{}' THEN
    RETURN QUERY SELECT s.number, s.post_id FROM searched_posts s
      WHERE s.number < past ORDER BY s.number DESC LIMIT most;
    RETURN;
  END IF;
  nearest := rows_looked_at(words);
  IF nearest > 0 THEN
    RETURN QUERY SELECT s.number, s.post_id FROM searched_posts s
      WHERE s.number < past AND s.number >= past - nearest AND strpos(s.form, words[1]) > 0
        AND has_words(s.form, words, patterns)
      ORDER BY s.number DESC LIMIT most;
    GET DIAGNOSTICS given = ROW_COUNT;
    most := most - given;
    past := past - nearest;
  END IF;
  keys := word_keys(words);
  WHILE most > 0 AND past > 0 LOOP
    block := (past - 1) >> 15;
    RETURN QUERY SELECT found.number, found.post_id FROM generate_series(block, block) small, LATERAL (
        SELECT s.* FROM searched_posts s
          WHERE post_keys(s.number, s.form) @> block_keys(small, keys) AND s.number + 0 < past
          ORDER BY s.number DESC OFFSET 0) found
      WHERE has_words(found.form, words, patterns) LIMIT most;
    GET DIAGNOSTICS given = ROW_COUNT;
    most := most - given;
    looked_at := past - (block << 15);
    past := block << 15;
    EXIT WHEN is_rare(given, looked_at, most);
  END LOOP;
  IF most > 0 THEN
    RETURN QUERY SELECT found.number, found.post_id FROM generate_series((past - 1) >> 20, 0, -1) large, LATERAL (
        SELECT s.* FROM searched_posts s
          WHERE post_keys(s.number, s.form) @> block_keys(large_block(large << 20), keys) AND s.number + 0 < past
          ORDER BY s.number DESC OFFSET 0) found
      WHERE has_words(found.form, words, patterns) LIMIT most;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION search_accounts(query text, after bigint, most bigint)
RETURNS TABLE (place bigint, account bigint)
LANGUAGE plpgsql STABLE ROWS 20
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  last_number constant bigint := (1::bigint << 48) - 1;
  past_newest constant bigint := coalesce((SELECT max(number) + 1 FROM searched_accounts), 0);
  form constant text := search_form(query);
  whole constant text := search_word(form);
  whole_pattern constant text := search_pattern(form);
  -- What a form has of which the query is a field, or the beginning of one.
  line constant text[] := ARRAY[E'\n' || whole || E'\n'];
  line_pattern constant text[] := array_remove(ARRAY[E'\n' || whole_pattern || E'\n'], NULL);
  beginning constant text[] := ARRAY[E'\n' || whole];
  beginning_pattern constant text[] := array_remove(ARRAY[E'\n' || whole_pattern], NULL);
  word text;
  words text[];
  patterns text[];
  -- What a form has that comes earlier.
  better text[];
  better_patterns text[];
  keys bigint[];
  nearest bigint;
  first_rank constant bigint := CASE WHEN after < 0 THEN 0 ELSE after >> 48 END;
  past bigint := CASE WHEN after < 0 THEN past_newest ELSE least(past_newest, last_number - (after & last_number)) END;
  given integer;
  block bigint;
  looked_at bigint;
BEGIN
  IF form = '' THEN
    RETURN QUERY SELECT last_number - s.number, s.account_id FROM searched_accounts s
      WHERE first_rank = 0 AND s.number < past ORDER BY s.number DESC LIMIT most;
    RETURN;
  END IF;
  FOR rank IN first_rank .. 2 LOOP
    nearest := 0;
    IF rank = 0 THEN
      words := line;
      patterns := line_pattern;
      better := NULL;
      keys := ARRAY[line_key('=', whole)];
    ELSIF rank = 1 THEN
      words := beginning;
      patterns := beginning_pattern;
      better := line;
      better_patterns := line_pattern;
      keys := ARRAY[line_key('<', left(whole, 3))];
      IF length(whole) > 3 THEN
        keys := keys || word_keys(string_to_array(whole, ' '));
      END IF;
    ELSE
      words := '{}';
      patterns := '{}';
      FOREACH word IN ARRAY string_to_array(form, ' ') LOOP
        words := words || search_word(word);
        patterns := patterns || array_remove(ARRAY[search_pattern(word)], NULL);
      END LOOP;
      better := beginning;
      better_patterns := beginning_pattern;
      keys := word_keys(words);
    END IF;
    IF rank = 2 THEN
      nearest := rows_looked_at(words);
    ELSIF rank = 1 AND length(whole) = 1 THEN
      nearest := 500;
    END IF;
    IF rank > first_rank THEN
      past := past_newest;
    END IF;
    IF nearest > 0 THEN
      RETURN QUERY SELECT (rank::bigint << 48) + last_number - s.number, s.account_id FROM searched_accounts s
        WHERE s.number < past AND s.number >= past - nearest AND strpos(s.form, words[1]) > 0
          AND has_words(s.form, words, patterns) AND (better IS NULL OR NOT has_words(s.form, better, better_patterns))
        ORDER BY s.number DESC LIMIT most;
      GET DIAGNOSTICS given = ROW_COUNT;
      most := most - given;
      past := past - nearest;
    END IF;
    WHILE most > 0 AND past > 0 LOOP
      block := (past - 1) >> 15;
      RETURN QUERY SELECT (rank::bigint << 48) + last_number - found.number, found.account_id
        FROM generate_series(block, block) small, LATERAL (
          SELECT s.* FROM searched_accounts s
            WHERE account_keys(s.number, s.form) @> block_keys(small, keys) AND s.number + 0 < past
            ORDER BY s.number DESC OFFSET 0) found
        WHERE has_words(found.form, words, patterns)
          AND (better IS NULL OR NOT has_words(found.form, better, better_patterns))
        LIMIT most;
      GET DIAGNOSTICS given = ROW_COUNT;
      most := most - given;
      looked_at := past - (block << 15);
      past := block << 15;
      EXIT WHEN is_rare(given, looked_at, most);
    END LOOP;
    IF most > 0 THEN
      RETURN QUERY SELECT (rank::bigint << 48) + last_number - found.number, found.account_id
        FROM generate_series((past - 1) >> 20, 0, -1) large, LATERAL (
          SELECT s.* FROM searched_accounts s
            WHERE account_keys(s.number, s.form) @> block_keys(large_block(large << 20), keys) AND s.number + 0 < past
            ORDER BY s.number DESC OFFSET 0) found
        WHERE has_words(found.form, words, patterns)
          AND (better IS NULL OR NOT has_words(found.form, better, better_patterns))
        LIMIT most;
      GET DIAGNOSTICS given = ROW_COUNT;
      most := most - given;
    END IF;
    EXIT WHEN most = 0;
  END LOOP;
END $$;

DROP FUNCTION blocks_below(bigint);

-- down

CREATE FUNCTION blocks_below(past bigint) RETURNS TABLE (block bigint, bound bigint)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF past > 0 THEN
    block := (past - 1) >> 15;
    bound := past;
    RETURN NEXT;
    bound := block << 15;
    FOR large IN REVERSE ((bound - 1) >> 20)::integer .. 0 LOOP
      block := large_block(large::bigint << 20);
      RETURN NEXT;
    END LOOP;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION search_word(form text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN form ~ ('[ㄱ-ㅎ]' COLLATE "C") THEN search_initials(form) ELSE form END;

CREATE OR REPLACE FUNCTION search_posts(query text, past bigint, most bigint)
RETURNS TABLE (place bigint, post bigint)
LANGUAGE plpgsql STABLE ROWS 20
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  form text;
  words text[] := '{}';
  patterns text[] := '{}';
  keys bigint[];
  nearest bigint;
  given bigint;
BEGIN
  past := least(past, coalesce((SELECT max(number) + 1 FROM searched_posts), 0));
  FOREACH form IN ARRAY string_to_array(search_form(query), ' ') LOOP
    words := words || search_word(form);
    patterns := patterns || array_remove(ARRAY[search_pattern(form)], NULL);
  END LOOP;
  IF words = '{}' THEN
    RETURN QUERY SELECT s.number, s.post_id FROM searched_posts s
      WHERE s.number < past ORDER BY s.number DESC LIMIT most;
    RETURN;
  END IF;
  nearest := rows_looked_at(words);
  IF nearest > 0 THEN
    RETURN QUERY SELECT s.number, s.post_id FROM searched_posts s
      WHERE s.number < past AND s.number >= past - nearest AND strpos(s.form, words[1]) > 0
        AND has_words(s.form, words, patterns)
      ORDER BY s.number DESC LIMIT most;
    GET DIAGNOSTICS given = ROW_COUNT;
    most := most - given;
    past := past - nearest;
  END IF;
  IF most > 0 THEN
    keys := word_keys(words);
    RETURN QUERY SELECT found.number, found.post_id FROM blocks_below(past), LATERAL (
        SELECT s.* FROM searched_posts s
          WHERE post_keys(s.number, s.form) @> block_keys(block, keys) AND s.number + 0 < bound
          ORDER BY s.number DESC OFFSET 0) found
      WHERE has_words(found.form, words, patterns) LIMIT most;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION search_accounts(query text, after bigint, most bigint)
RETURNS TABLE (place bigint, account bigint)
LANGUAGE plpgsql STABLE ROWS 20
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  last_number constant bigint := (1::bigint << 48) - 1;
  past_newest constant bigint := coalesce((SELECT max(number) + 1 FROM searched_accounts), 0);
  form constant text := search_form(query);
  whole constant text := search_word(form);
  whole_pattern constant text := search_pattern(form);
  -- What a form has of which the query is a field, or the beginning of one.
  line constant text[] := ARRAY[E'\n' || whole || E'\n'];
  line_pattern constant text[] := array_remove(ARRAY[E'\n' || whole_pattern || E'\n'], NULL);
  beginning constant text[] := ARRAY[E'\n' || whole];
  beginning_pattern constant text[] := array_remove(ARRAY[E'\n' || whole_pattern], NULL);
  word text;
  words text[];
  patterns text[];
  -- What a form has that comes earlier.
  better text[];
  better_patterns text[];
  keys bigint[];
  nearest bigint;
  first_rank constant bigint := CASE WHEN after < 0 THEN 0 ELSE after >> 48 END;
  past bigint := CASE WHEN after < 0 THEN past_newest ELSE least(past_newest, last_number - (after & last_number)) END;
  given integer;
BEGIN
  IF form = '' THEN
    RETURN QUERY SELECT last_number - s.number, s.account_id FROM searched_accounts s
      WHERE first_rank = 0 AND s.number < past ORDER BY s.number DESC LIMIT most;
    RETURN;
  END IF;
  FOR rank IN first_rank .. 2 LOOP
    nearest := 0;
    IF rank = 0 THEN
      words := line;
      patterns := line_pattern;
      better := NULL;
      keys := ARRAY[line_key('=', whole)];
    ELSIF rank = 1 THEN
      words := beginning;
      patterns := beginning_pattern;
      better := line;
      better_patterns := line_pattern;
      keys := ARRAY[line_key('<', left(whole, 3))];
      IF length(whole) > 3 THEN
        keys := keys || word_keys(string_to_array(whole, ' '));
      END IF;
    ELSE
      words := '{}';
      patterns := '{}';
      FOREACH word IN ARRAY string_to_array(form, ' ') LOOP
        words := words || search_word(word);
        patterns := patterns || array_remove(ARRAY[search_pattern(word)], NULL);
      END LOOP;
      better := beginning;
      better_patterns := beginning_pattern;
      keys := word_keys(words);
    END IF;
    IF rank = 2 THEN
      nearest := rows_looked_at(words);
    ELSIF rank = 1 AND length(whole) = 1 THEN
      nearest := 500;
    END IF;
    IF rank > first_rank THEN
      past := past_newest;
    END IF;
    IF nearest > 0 THEN
      RETURN QUERY SELECT (rank::bigint << 48) + last_number - s.number, s.account_id FROM searched_accounts s
        WHERE s.number < past AND s.number >= past - nearest AND strpos(s.form, words[1]) > 0
          AND has_words(s.form, words, patterns) AND (better IS NULL OR NOT has_words(s.form, better, better_patterns))
        ORDER BY s.number DESC LIMIT most;
      GET DIAGNOSTICS given = ROW_COUNT;
      most := most - given;
      past := past - nearest;
    END IF;
    IF most > 0 THEN
      RETURN QUERY SELECT (rank::bigint << 48) + last_number - found.number, found.account_id
        FROM blocks_below(past), LATERAL (
          SELECT s.* FROM searched_accounts s
            WHERE account_keys(s.number, s.form) @> block_keys(block, keys) AND s.number + 0 < bound
            ORDER BY s.number DESC OFFSET 0) found
        WHERE has_words(found.form, words, patterns)
          AND (better IS NULL OR NOT has_words(found.form, better, better_patterns))
        LIMIT most;
      GET DIAGNOSTICS given = ROW_COUNT;
      most := most - given;
    END IF;
    EXIT WHEN most = 0;
  END LOOP;
END $$;

DROP FUNCTION is_rare(bigint, bigint, bigint);
