// A receiver of webhooks, a separate process: answers each after a configured time, and counts them. It must never count one
// webhook twice, however often it is sent.
const [listenPort, answerDelayMs] = process.argv.slice(2)
const delayMs = Number(answerDelayMs)
const received = new Set<string>()

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(listenPort),
  idleTimeout: 0,
  async fetch(request) {
    if (request.method === 'GET') return Response.json(received.size)
    await request.arrayBuffer()
    received.add(request.headers.get('webhook-id') ?? '')
    if (delayMs > 0) await Bun.sleep(delayMs)
    return new Response()
  },
})
// The bench keeps a channel open to this process; if that breaks, the bench has ended and nobody else would stop this process.
process.on('disconnect', () => process.exit())
