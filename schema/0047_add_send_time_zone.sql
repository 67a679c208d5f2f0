-- The time zone that the latest event of a person named; an IANA name. A trait of the person's profile goes before it.
ALTER TABLE send_times ADD COLUMN IF NOT EXISTS zone text;
