// A receiver of webhooks over real HTTP that records the deliveries and answers as a test decides.

export interface WebhookReceiver {
  url: string
  /** Every delivery that reached it. */
  deliveries: { id: string; body: string }[]
  answer: () => Response | Promise<Response>
}

/** The network that a configuration must allow so that webhooks are sent to a receiver. */
export const RECEIVER_NETWORK = '127.0.0.0/8'

/** Starts a receiver; `using` stops it. */
export function startReceiver(): WebhookReceiver & Disposable {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request, listener) {
      listener.timeout(request, 0)
      const id = request.headers.get('webhook-id') ?? ''
      receiver.deliveries.push({ id, body: await request.text() })
      return receiver.answer()
    },
  })
  const receiver: WebhookReceiver & Disposable = {
    url: `http://127.0.0.1:${server.port}/ended`,
    deliveries: [],
    answer: () => new Response('thanks'),
    [Symbol.dispose]() {
      void server.stop(true)
    },
  }
  return receiver
}

/** The ids of all received webhooks, each once. */
export function idsOf({ deliveries }: WebhookReceiver): string[] {
  return [...new Set(deliveries.map(({ id }) => id))]
}
