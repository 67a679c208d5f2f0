-- What an entry's change did to the record, field by field; null where that is not known. Bounded, without secrets.
ALTER TABLE audit_entries ADD COLUMN IF NOT EXISTS changes json;
