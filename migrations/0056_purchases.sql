-- What accounts bought or were given: more places for celebs.
--
-- A receipt grants once, however often its notices come and in which order: its row is the first to come, and what a later one
-- says of a refund counts where it is newer. A refund takes the places back and leaves what is registered in them.
--
-- A receipt outlives its account, with account 0: it must not grant again.

CREATE TABLE purchases (
  source text NOT NULL CHECK (source IN ('operator', 'notice', 'storekit')),
  receipt text NOT NULL,
  account_id bigint NOT NULL,
  places integer NOT NULL CHECK (places BETWEEN 1 AND 1000),
  product text,
  -- Null while only a refund has come.
  granted_at timestamptz,
  refunded_at timestamptz,
  -- The time of the last notice that refunded, or took a refund back.
  changed_at timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (source, receipt)
);

CREATE INDEX purchases_of_account ON purchases (account_id);

-- What stores know accounts by.
CREATE TABLE purchase_tokens (
  account_id bigint PRIMARY KEY,
  token uuid NOT NULL UNIQUE DEFAULT gen_random_uuid()
);

CREATE OR REPLACE FUNCTION celeb_places(fan bigint, usual_limit integer) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT least(1000000, coalesce(a.celeb_limit, usual_limit) + coalesce((
      SELECT sum(places) FROM purchases p
      WHERE p.account_id = a.id AND granted_at IS NOT NULL AND refunded_at IS NULL), 0))::integer
  FROM accounts a WHERE a.id = fan
$$;

-- Applies what a store says: `kind` is 'purchase', 'refund' or 'refund_reversed'. The outcome is 'granted', 'refunded',
-- 'restored', 'unchanged', 'no_account', or 'taken' where the receipt is another account's.
CREATE FUNCTION apply_purchase(
  account bigint, of_source text, of_receipt text, kind text, with_places integer, of_product text, moment timestamptz
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  held purchases;
BEGIN
  -- Registrations wait for this lock too: each sees all of a refund, or nothing.
  PERFORM FROM accounts WHERE id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'no_account';
  END IF;
  INSERT INTO purchases (source, receipt, account_id, places, product)
    VALUES (of_source, of_receipt, account, with_places, of_product) ON CONFLICT DO NOTHING;
  SELECT * INTO held FROM purchases WHERE source = of_source AND receipt = of_receipt FOR UPDATE;
  IF held.account_id <> account THEN
    RETURN 'taken';
  END IF;
  IF kind = 'purchase' THEN
    IF held.granted_at IS NOT NULL THEN
      RETURN 'unchanged';
    END IF;
    UPDATE purchases SET granted_at = moment, places = with_places, product = of_product
      WHERE source = of_source AND receipt = of_receipt;
    RETURN CASE WHEN held.refunded_at IS NULL THEN 'granted' ELSE 'unchanged' END;
  END IF;
  IF moment <= held.changed_at THEN
    RETURN 'unchanged';
  END IF;
  UPDATE purchases SET changed_at = moment, refunded_at = CASE WHEN kind = 'refund' THEN moment END
    WHERE source = of_source AND receipt = of_receipt;
  RETURN CASE WHEN (held.refunded_at IS NULL) = (kind <> 'refund') THEN 'unchanged'
    WHEN kind = 'refund' THEN 'refunded' ELSE 'restored' END;
END $$;

-- down

DROP FUNCTION apply_purchase(bigint, text, text, text, integer, text, timestamptz);
CREATE OR REPLACE FUNCTION celeb_places(fan bigint, usual_limit integer) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT coalesce(a.celeb_limit, usual_limit) FROM accounts a WHERE a.id = fan
$$;
DROP TABLE purchase_tokens;
DROP TABLE purchases;
