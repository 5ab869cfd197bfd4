-- Channels are compared with the accounts of celebs, whose names are compared byte by byte: an index of another order is of no
-- use for that, and each celeb that is listed read all channels.

ALTER TABLE channels ALTER COLUMN id TYPE text COLLATE "C";

-- down

ALTER TABLE channels ALTER COLUMN id TYPE text COLLATE "default";
