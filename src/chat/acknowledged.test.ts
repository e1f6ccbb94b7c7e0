import { expect, setDefaultTimeout } from 'bun:test'
import { campaign } from '../../test/harness/campaign.ts'
import { MANY_PROMPTS, startChatServer } from '../../test/harness/chat/chat-server.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { amidVisitors } from '../../test/harness/visitors.ts'

setDefaultTimeout(120_000)

const PROMPTS = 80

campaign(
  'a prompt that one chat process has stored in an SQLite file is there at once at another',
  async ({ rounds }) => {
    await using server = await startChatServer(sqlite, { environment: MANY_PROMPTS })
    await using other = await server.startAnother()
    const visit = (path: string) => other.chat.get(path, { keepalive: false, headers: { Connection: 'close' } })
    const visits = ['/chat/nobody/status', '/healthz'].map(path => () => visit(path))
    const missing: string[] = []
    await amidVisitors(visits, async () => {
      for (const asked of rounds(PROMPTS)) {
        const { status } = await server.chat.post(`turn-${asked}`, 'What is a spade?')
        expect(status).toBe(200)
        const { text } = await visit(`/chat/turn-${asked}`)
        if (!text.includes('>What is a spade?</div>')) missing.push(`turn-${asked}`)
      }
    })
    expect(missing).toEqual([])
  },
)
