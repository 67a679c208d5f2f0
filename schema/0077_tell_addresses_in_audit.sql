-- Where a change came from, as far as the request told; NULL for what no request made.
ALTER TABLE audit_entries ADD COLUMN IF NOT EXISTS address text;
