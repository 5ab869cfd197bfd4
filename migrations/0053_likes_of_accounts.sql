-- Which posts of a list a reader likes: one look for each, all of them in the same few pages of this index. The primary
-- key would have each in a page of its own.

CREATE INDEX likes_of_account ON likes (account_id, post_id);

-- down

DROP INDEX likes_of_account;
