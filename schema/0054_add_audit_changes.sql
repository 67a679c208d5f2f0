-- The changed fields of the record; null where unknown. Bounded, without secrets.
ALTER TABLE audit_entries ADD COLUMN IF NOT EXISTS changes json;
