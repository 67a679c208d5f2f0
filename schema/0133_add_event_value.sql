-- The value of a conversion with the ISO 4217 code of its currency, where its source gives them.
ALTER TABLE events ADD COLUMN IF NOT EXISTS value double precision;
ALTER TABLE events ADD COLUMN IF NOT EXISTS currency text;
