-- Why items of a body were ignored: [{"reason", "count", "pointer" of the first}], at most 20 reasons.
ALTER TABLE inbox ADD COLUMN IF NOT EXISTS unused json;
