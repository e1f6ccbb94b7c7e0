/**
 * The most that Bun itself can do on this machine: its server and router send bytes that are in memory already, look nothing
 * up, and read request bodies without parsing them. No service on Bun is expected to be faster.
 */
import type { CannedAnswers } from '../workloads.ts'

const answers: CannedAnswers = await Bun.file(process.env.ANSWERS ?? '').json()
const init = { headers: { 'content-type': 'application/json' } }

const routes: Record<string, Record<string, (request: Request) => Response | Promise<Response>>> = {}
for (const { method, route, body } of answers[process.env.WORKLOAD ?? ''] ?? []) {
  const bytes = new TextEncoder().encode(body)
  routes[route] = {
    ...routes[route],
    [method]:
      method === 'GET'
        ? () => new Response(bytes, init)
        : async request => {
            await request.bytes()
            return new Response(bytes, init)
          },
  }
}

const server = Bun.serve({ hostname: '127.0.0.1', port: Number(process.env.PORT ?? 0), routes })
console.log(`runtime-ceiling is ready on ${server.url.origin}`)
