import type { Table } from '../database/table.ts'

export const chatTables: readonly Table[] = [
  {
    name: 'prompts',
    key: 'id',
    columns: { id: 'integer', req_id: 'text', text: 'text', created_at: 'time' },
    // On PostgreSQL, a prompt's own row says that its answer has begun.
    postgresAfterCopy: 'UPDATE prompts SET is_claimed = true WHERE req_id IN (SELECT req_id FROM answers)',
  },
  {
    name: 'answers',
    key: 'req_id',
    columns: {
      req_id: 'text',
      state: 'text',
      text: 'text',
      failure: 'text',
      stop_asked: 'flag',
      alive_at: 'time',
      heard_at: 'time',
    },
    postgres: {
      // While an answer grows, its text goes on in rows of its own.
      text: `
        text || coalesce((
          SELECT string_agg(piece.text, '' ORDER BY piece.position) FROM answer_pieces AS piece
          WHERE piece.req_id = answers.req_id AND piece.position >= char_length(answers.text)
        ), '')`,
    },
  },
]
