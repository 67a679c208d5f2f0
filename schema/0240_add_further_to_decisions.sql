-- Attributes of the request that the segment lacks, or has as `other`, in the form of a segment. NULL without any.
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS further text;
