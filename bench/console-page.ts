// A page of the console that a signed-in owner keeps open: signs in by a link, opens the overview, and reads the stream of events
// until it is closed. It must never count a stream without events as read.
import type { GatewaySetup } from './gateway'

export interface ConsolePage {
  /** Leaves the page. Throws if no request was reported. */
  close(): Promise<void>
}

export async function openConsolePage({ command, flags }: GatewaySetup, port: number): Promise<ConsolePage> {
  const origin = `http://127.0.0.1:${port}`
  const made = Bun.spawnSync([...command, 'console', '--json', '--url', origin, ...flags])
  if (!made.success) throw new Error(`cannot make a link to the console: ${made.stderr}${made.stdout}`)
  const { link } = JSON.parse(made.stdout.toString()) as { link: string }
  const signedIn = await fetch(`${origin}/console/session`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ link: new URL(link).hash.replace('#link=', '') }),
  })
  const given = signedIn.headers.getSetCookie().find((cookie) => !cookie.includes('Max-Age=0'))
  const headers = { cookie: given?.split(';')[0] ?? '' }
  const ask = async (path: string, signal: AbortSignal | null = null) => {
    const response = await fetch(`${origin}${path}`, { headers, signal })
    if (response.status !== 200) throw new Error(`${path} of the console answered ${response.status}`)
    return response
  }
  for (const path of ['/console', '/console/session', '/admin/v1/overview']) await (await ask(path)).text()
  const leave = new AbortController()
  const reading = countRequests(await ask('/console/live', leave.signal))
  return {
    async close() {
      leave.abort()
      if ((await reading) === 0) throw new Error('the stream of the console reported no request')
    },
  }
}

/** Events of requests until the page is left. Rejects if the server ends the stream. */
async function countRequests(response: Response): Promise<number> {
  const decoder = new TextDecoder()
  let count = 0
  try {
    for await (const bytes of response.body ?? [])
      count += decoder.decode(bytes, { stream: true }).split('event: request\n').length - 1
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return count
    throw error
  }
  throw new Error('the gateway ended the stream of the console')
}
