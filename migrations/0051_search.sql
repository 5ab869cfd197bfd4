-- What accounts and posts are found by.
--
-- Each has a row with its folded text and a number that grows with the rows. An index holds the text's characters, pairs
-- and threes in a row, so a text that contains the query has all of the query's keys; the row itself is checked last.
--
-- A key is a block of rows (21 bits) and one or two characters (21 bits each, which hold all of Unicode) or a hash. A row
-- is in a block of 2^15 rows and in one of 2^20. A search reads the newest small block first: a frequent word fills its
-- page there, and one that does not is rare enough for the large blocks.
--
-- New keys wait in the index's pending list, which is merged a megabyte at a time.

CREATE TABLE searched_accounts (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL UNIQUE,
  -- Of its username, name and major.
  form text NOT NULL
);

CREATE TABLE searched_posts (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  post_id bigint NOT NULL UNIQUE,
  -- Of its title, and of the first 500 characters of its description.
  form text NOT NULL
);

-- A text as it is compared: composed, in lower case by Unicode's mapping, with single spaces. A sigma is one letter, at
-- the end of a word too, and a consonant one character, whichever of its two was typed.
CREATE FUNCTION search_form(shown text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN btrim(regexp_replace(
  translate(normalize(lower(normalize(shown) COLLATE "und-x-icu")),
    'ςᄀᄁᄂᄃᄄᄅᄆᄇᄈᄉᄊᄋᄌᄍᄎᄏᄐᄑᄒ', 'σㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ'),
  '\s+', ' ', 'g'));

-- A form with the initial consonant in place of each Korean syllable, and two in place of what keyboards make of two.
CREATE FUNCTION search_initials(form text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  initials constant text := 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ';
  clusters constant text := 'ㄳㄵㄶㄺㄻㄼㄽㄾㄿㅀㅄ';
  cluster_initials constant text := 'ㄱㅅㄴㅈㄴㅎㄹㄱㄹㅁㄹㅂㄹㅅㄹㅌㄹㅍㄹㅎㅂㅅ';
  letter text;
  result text := '';
BEGIN
  IF form !~ ('[가-힣ㄳ-ㅄ]' COLLATE "C") THEN
    RETURN form;
  END IF;
  FOREACH letter IN ARRAY string_to_array(form, NULL) LOOP
    IF ascii(letter) BETWEEN 44032 AND 55203 THEN
      letter := substr(initials, (ascii(letter) - 44032) / 588 + 1, 1);
    ELSIF strpos(clusters, letter) > 0 THEN
      letter := substr(cluster_initials, 2 * strpos(clusters, letter) - 1, 2);
    END IF;
    result := result || letter;
  END LOOP;
  RETURN result;
END $$;

-- The form of a text of several fields: each on a line, and behind them those that are Korean as initial consonants. What
-- is found at a field's beginning is so found behind the end of a line.
CREATE FUNCTION search_lines(fields text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  field text;
  consonants text;
  plain text := E'\n';
  initials text := '';
BEGIN
  FOREACH field IN ARRAY fields LOOP
    field := search_form(field);
    consonants := search_initials(field);
    plain := plain || field || E'\n';
    IF consonants <> field THEN
      initials := initials || consonants || E'\n';
    END IF;
  END LOOP;
  RETURN plain || initials;
END $$;

CREATE FUNCTION account_search_form(username text, name text, major text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN search_lines(ARRAY[username, name, major]);

CREATE FUNCTION post_search_form(title text, description text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN search_lines(ARRAY[title, left(description, 500)]);

-- A key that is a hash, where Unicode has no characters any more.
CREATE FUNCTION hash_key(hash bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (1114112::bigint << 21) + (hash & 9223372036854775807) % (983040::bigint << 21);

-- The keys of a form, as they are in block 0: each character, each two that follow each other, and the hash of each
-- three. A space is in none, nor is the end of a line.
CREATE FUNCTION text_keys(form text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  keys bigint[] := '{}';
  letter text;
  code bigint;
  before bigint := 32;
  two_before bigint := 32;
BEGIN
  FOREACH letter IN ARRAY string_to_array(form, NULL) LOOP
    code := ascii(letter);
    IF code IN (10, 32) THEN
      code := 32;
    ELSE
      keys := keys || (code << 21);
      IF before <> 32 THEN
        keys := keys || ((before << 21) | code);
        IF two_before <> 32 THEN
          keys := keys || hash_key(hashint8extended((two_before << 42) | (before << 21) | code, 0));
        END IF;
      END IF;
    END IF;
    two_before := before;
    before := code;
  END LOOP;
  RETURN keys;
END $$;

-- A key of what a line is (=) or begins with (<).
CREATE FUNCTION line_key(sign text, part text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN hash_key(hashtextextended(sign || part, 0));

-- The keys of a form's lines: of each, and of its first one, two and three characters.
CREATE FUNCTION line_keys(form text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  keys bigint[] := '{}';
  line text;
BEGIN
  FOREACH line IN ARRAY string_to_array(form, E'\n') LOOP
    IF line <> '' THEN
      keys := keys || line_key('=', line);
      FOR count IN 1 .. least(length(line), 3) LOOP
        keys := keys || line_key('<', left(line, count));
      END LOOP;
    END IF;
  END LOOP;
  RETURN keys;
END $$;

CREATE FUNCTION large_block(number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (1::bigint << 20) | (number >> 20);

-- Keys in both blocks of a row.
CREATE FUNCTION row_keys(number bigint, keys bigint[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN ARRAY(
    SELECT (block << 42) | key FROM unnest(keys) key, unnest(ARRAY[number >> 15, large_block(number)]) block);
END $$;

-- The costs are high so that no plan works out the keys of rows instead of reading the index. Autovacuum and pg_restore
-- call these with an empty search path.

CREATE FUNCTION account_keys(number bigint, form text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000 SET search_path FROM CURRENT
RETURN row_keys(number, text_keys(form) || line_keys(form));

CREATE FUNCTION post_keys(number bigint, form text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000 SET search_path FROM CURRENT
RETURN row_keys(number, text_keys(form));

-- The blocks to be read for rows below `past`, in order, and below which number in each.
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

-- Keys of what the words have, as they are in block 0: of a word its threes, or itself if it is shorter. Of many threes,
-- five that lie far apart: each costs a look into each block, and the rows tell the rest.
CREATE FUNCTION word_keys(words text[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  word text;
  key bigint;
  known bigint[] := '{}';
  few bigint[] := '{}';
BEGIN
  FOREACH word IN ARRAY words LOOP
    FOREACH key IN ARRAY text_keys(word) LOOP
      -- Pairs have both characters; threes are hashes, which are larger than all others.
      CONTINUE WHEN length(word) = 2 AND key & ((1 << 21) - 1) = 0;
      CONTINUE WHEN length(word) > 2 AND key < 1114112::bigint << 21;
      known := known || key;
    END LOOP;
  END LOOP;
  IF cardinality(known) <= 5 THEN
    RETURN known;
  END IF;
  FOR place IN 0 .. 4 LOOP
    few := few || known[1 + place * (cardinality(known) - 1) / 4];
  END LOOP;
  RETURN few;
END $$;

CREATE FUNCTION block_keys(block bigint, known bigint[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  keys bigint[] := '{}';
  key bigint;
BEGIN
  FOREACH key IN ARRAY known LOOP
    keys := keys || ((block << 42) | key);
  END LOOP;
  RETURN keys;
END $$;

-- A word as it is looked for: one with consonants among its initials.
CREATE FUNCTION search_word(form text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN form ~ ('[ㄱ-ㅎ]' COLLATE "C") THEN search_initials(form) ELSE form END;

-- What the text has to match too, of a word that has both consonants and syllables; null for all others. A consonant
-- stands for itself and for the syllables that begin with it.
CREATE FUNCTION search_pattern(form text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  initials constant text := 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ';
  letter text;
  place integer;
  result text := '';
BEGIN
  IF form !~ ('[ㄱ-ㅎ]' COLLATE "C") OR form !~ ('[가-힣]' COLLATE "C") THEN
    RETURN NULL;
  END IF;
  FOREACH letter IN ARRAY string_to_array(form, NULL) LOOP
    -- A syllable is left as it is; of what keyboards make of two consonants, each counts.
    FOREACH letter IN ARRAY
      CASE WHEN ascii(letter) < 44032 THEN string_to_array(search_initials(letter), NULL) ELSE ARRAY[letter] END
    LOOP
      place := strpos(initials, letter);
      result := result || CASE
        WHEN place > 0 THEN '[' || letter || chr(44032 + (place - 1) * 588) || '-' || chr(44031 + place * 588) || ']'
        WHEN ascii(letter) < 128 AND letter !~ '[a-z0-9 ]' THEN '\' || letter
        ELSE letter END;
    END LOOP;
  END LOOP;
  RETURN result;
END $$;

-- Whether a form has all the words, and matches all their patterns.
CREATE FUNCTION has_words(form text, words text[], patterns text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  word text;
BEGIN
  FOREACH word IN ARRAY words LOOP
    IF strpos(form, word) = 0 THEN
      RETURN false;
    END IF;
  END LOOP;
  FOREACH word IN ARRAY patterns LOOP
    IF form !~ (word COLLATE "C") THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END $$;

-- How many of the newest rows are looked at before the index: what is in many of them needs none. The longer a word,
-- the fewer have it.
CREATE FUNCTION rows_looked_at(words text[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  word text;
  count bigint := 0;
BEGIN
  FOREACH word IN ARRAY words LOOP
    count := greatest(count, CASE length(word) WHEN 1 THEN 500 WHEN 2 THEN 200 ELSE 0 END);
  END LOOP;
  RETURN count;
END $$;

-- Of both functions that search, plans are made once a session: what is planned anew each time takes as long as the rest.

-- Up to so many posts that contain all words of a query, the newest first, whose numbers are below `past`.
CREATE FUNCTION search_posts(query text, past bigint, most bigint)
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
    RETURN QUERY SELECT s.number, s.post_id FROM searched_posts s WHERE s.number < past ORDER BY s.number DESC LIMIT most;
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

-- Up to so many accounts that contain all words of a query, behind a place (-1: from the first). First come those of
-- which a field is the query, then those of which one begins with it, then the others, each the newest first. A place is
-- one of these three, in the bits from the 48th on, and how far below 2^48 the number is.
CREATE FUNCTION search_accounts(query text, after bigint, most bigint)
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

-- Whatever statement writes accounts and posts, these follow in it.

CREATE FUNCTION add_searched_accounts() RETURNS trigger
LANGUAGE plpgsql SET gin_pending_list_limit = '1MB' SET work_mem = '4MB' AS $$
DECLARE
  is_bulk constant boolean := EXISTS (SELECT FROM added OFFSET 1000);
BEGIN
  IF is_bulk THEN
    -- What waits in one list is merged at once.
    PERFORM set_config('gin_pending_list_limit', '256MB', true), set_config('work_mem', '256MB', true);
  END IF;
  INSERT INTO searched_accounts (account_id, form)
    SELECT id, account_search_form(username, name, major) FROM added ORDER BY id;
  IF is_bulk THEN
    PERFORM gin_clean_pending_list('searched_accounts_keys');
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION change_searched_account() RETURNS trigger
LANGUAGE plpgsql SET gin_pending_list_limit = '1MB' AS $$
BEGIN
  UPDATE searched_accounts SET form = account_search_form(NEW.username, NEW.name, NEW.major) WHERE account_id = NEW.id;
  RETURN NULL;
END $$;

CREATE FUNCTION remove_searched_accounts() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM searched_accounts WHERE account_id IN (SELECT id FROM removed);
  RETURN NULL;
END $$;

CREATE FUNCTION add_searched_posts() RETURNS trigger
LANGUAGE plpgsql SET gin_pending_list_limit = '1MB' SET work_mem = '4MB' AS $$
DECLARE
  is_bulk constant boolean := EXISTS (SELECT FROM added OFFSET 1000);
BEGIN
  IF is_bulk THEN
    -- What waits in one list is merged at once.
    PERFORM set_config('gin_pending_list_limit', '256MB', true), set_config('work_mem', '256MB', true);
  END IF;
  INSERT INTO searched_posts (post_id, form) SELECT id, post_search_form(title, description) FROM added ORDER BY id;
  IF is_bulk THEN
    PERFORM gin_clean_pending_list('searched_posts_keys');
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION change_searched_post() RETURNS trigger
LANGUAGE plpgsql SET gin_pending_list_limit = '1MB' AS $$
BEGIN
  UPDATE searched_posts SET form = post_search_form(NEW.title, NEW.description) WHERE post_id = NEW.id;
  RETURN NULL;
END $$;

CREATE FUNCTION remove_searched_posts() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM searched_posts WHERE post_id IN (SELECT id FROM removed);
  RETURN NULL;
END $$;

CREATE TRIGGER add_searched AFTER INSERT ON accounts REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_searched_accounts();
CREATE TRIGGER change_searched AFTER UPDATE OF username, name, major ON accounts FOR EACH ROW
  WHEN ((OLD.username, OLD.name, OLD.major) IS DISTINCT FROM (NEW.username, NEW.name, NEW.major))
  EXECUTE FUNCTION change_searched_account();
CREATE TRIGGER remove_searched AFTER DELETE ON accounts REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION remove_searched_accounts();
CREATE TRIGGER add_searched AFTER INSERT ON posts REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_searched_posts();
CREATE TRIGGER change_searched AFTER UPDATE OF title, description ON posts FOR EACH ROW
  WHEN ((OLD.title, OLD.description) IS DISTINCT FROM (NEW.title, NEW.description))
  EXECUTE FUNCTION change_searched_post();
CREATE TRIGGER remove_searched AFTER DELETE ON posts REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION remove_searched_posts();

-- What the tables should hold: the other side of an audit and of the upgrade.

CREATE VIEW searchable_accounts AS
  SELECT id AS account_id, account_search_form(username, name, major) AS form FROM accounts;

CREATE VIEW searchable_posts AS
  SELECT id AS post_id, post_search_form(title, description) AS form FROM posts;

-- Makes what is found what there is, and returns how many rows were wrong. Writers wait meanwhile.
CREATE FUNCTION remake_search() RETURNS bigint
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' AS $$
DECLARE
  changed bigint;
  wrong bigint := 0;
BEGIN
  LOCK TABLE accounts, posts IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM searched_accounts kept WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.id = kept.account_id);
  GET DIAGNOSTICS changed = ROW_COUNT;
  wrong := wrong + changed;
  INSERT INTO searched_accounts AS kept (account_id, form) SELECT * FROM searchable_accounts ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET form = excluded.form WHERE kept.form <> excluded.form;
  GET DIAGNOSTICS changed = ROW_COUNT;
  wrong := wrong + changed;
  DELETE FROM searched_posts kept WHERE NOT EXISTS (SELECT FROM posts p WHERE p.id = kept.post_id);
  GET DIAGNOSTICS changed = ROW_COUNT;
  wrong := wrong + changed;
  INSERT INTO searched_posts AS kept (post_id, form) SELECT * FROM searchable_posts ORDER BY post_id
    ON CONFLICT (post_id) DO UPDATE SET form = excluded.form WHERE kept.form <> excluded.form;
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN wrong + changed;
END $$;

-- What there is: some minutes for a million of each.
SELECT remake_search();

CREATE INDEX searched_accounts_keys ON searched_accounts
  USING gin (account_keys(number, form));
CREATE INDEX searched_posts_keys ON searched_posts
  USING gin (post_keys(number, form));

DROP INDEX accounts_major_prefix;
DROP INDEX accounts_name_prefix;

-- down

CREATE INDEX accounts_name_prefix ON accounts (lower(name) COLLATE "C") WHERE name <> '';
CREATE INDEX accounts_major_prefix ON accounts (lower(major) COLLATE "C") WHERE major <> '';
DROP TRIGGER remove_searched ON posts;
DROP TRIGGER change_searched ON posts;
DROP TRIGGER add_searched ON posts;
DROP TRIGGER remove_searched ON accounts;
DROP TRIGGER change_searched ON accounts;
DROP TRIGGER add_searched ON accounts;
DROP FUNCTION remake_search();
DROP VIEW searchable_posts;
DROP VIEW searchable_accounts;
DROP FUNCTION remove_searched_posts();
DROP FUNCTION change_searched_post();
DROP FUNCTION add_searched_posts();
DROP FUNCTION remove_searched_accounts();
DROP FUNCTION change_searched_account();
DROP FUNCTION add_searched_accounts();
DROP FUNCTION search_accounts(text, bigint, bigint);
DROP FUNCTION search_posts(text, bigint, bigint);
DROP TABLE searched_posts;
DROP TABLE searched_accounts;
DROP FUNCTION rows_looked_at(text[]);
DROP FUNCTION has_words(text, text[], text[]);
DROP FUNCTION search_pattern(text);
DROP FUNCTION search_word(text);
DROP FUNCTION block_keys(bigint, bigint[]);
DROP FUNCTION word_keys(text[]);
DROP FUNCTION blocks_below(bigint);
DROP FUNCTION post_keys(bigint, text);
DROP FUNCTION account_keys(bigint, text);
DROP FUNCTION row_keys(bigint, bigint[]);
DROP FUNCTION large_block(bigint);
DROP FUNCTION line_keys(text);
DROP FUNCTION line_key(text, text);
DROP FUNCTION text_keys(text);
DROP FUNCTION hash_key(bigint);
DROP FUNCTION post_search_form(text, text);
DROP FUNCTION account_search_form(text, text, text);
DROP FUNCTION search_lines(text[]);
DROP FUNCTION search_initials(text);
DROP FUNCTION search_form(text);
