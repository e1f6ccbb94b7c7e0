-- The sender's address, for the limits per address. It is removed after a day.

ALTER TABLE prompts ADD COLUMN address text;

CREATE INDEX prompts_by_address ON prompts (address, created_at) WHERE address IS NOT NULL;
