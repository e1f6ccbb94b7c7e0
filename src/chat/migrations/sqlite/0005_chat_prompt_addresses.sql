-- The sender's address, for the limits per address. It is removed after a day.

ALTER TABLE prompts ADD COLUMN address TEXT;

-- Unlike on PostgreSQL, with the id, which leads to the answer's row without a look at the prompt.
CREATE INDEX prompts_by_address ON prompts (address, created_at, req_id) WHERE address IS NOT NULL;
