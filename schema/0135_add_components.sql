-- Components of a variant: values by kind, such as {"subject": "question"}. Variants with a component in common are
-- learned about together. json, not jsonb, since the order of the kinds is the author's.
ALTER TABLE variants ADD COLUMN IF NOT EXISTS components json NOT NULL DEFAULT '{}';
