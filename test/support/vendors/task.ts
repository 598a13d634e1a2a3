// A vendor of videos over real HTTP: a test decides every answer, and requests are counted across crashes. It uses DashScope's wire
// format and has no clock: the test ends each task.

import type { UpstreamConfig } from '../../../src/upstreams/settings'

export interface TaskVendor {
  /** Settings of an upstream that uses this vendor. */
  upstream: Partial<UpstreamConfig>
  /** Every received submit. */
  submits: { prompt: string; id: string }[]
  /** The polled tasks, in the order of the polls. */
  polls: string[]
  /** The tasks of all stop requests. */
  cancels: string[]
  /** The highest number of polls of one task at the same time. */
  mostAtOnce: number
  answerSubmit: (id: string) => Response | Promise<Response>
  answerPoll: (id: string) => Response | Promise<Response>
}

/** The length of every video in seconds. */
export const VIDEO_SECONDS = 5
/** The price of a video in the tests. */
export const VIDEO_NANO = 50_000_000

/** A request for a video. Tasks differ in their prompt. */
export function videoBody(prompt: string, more: object = {}) {
  return {
    model: 'vidw2.6-t2v',
    duration: VIDEO_SECONDS,
    resolution: '720p',
    input: { prompt },
    parameters: { duration: VIDEO_SECONDS, size: '1280*720' },
    ...more,
  }
}

/** Starts a vendor; `using` stops it. */
export function startTaskVendor(): TaskVendor & Disposable {
  const running = new Map<string, number>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request, listener) {
      listener.timeout(request, 0)
      const [, canceled] = /\/([^/]+)\/cancel$/.exec(new URL(request.url).pathname) ?? []
      if (canceled !== undefined) return stopped(canceled)
      if (request.method === 'POST') return submitted((await request.json()) as { input: { prompt: string } })
      return polled(new URL(request.url).pathname.split('/').at(-1) ?? '')
    },
  })

  function submitted(body: { input: { prompt: string } }) {
    const id = `ds-${vendor.submits.length + 1}`
    vendor.submits.push({ prompt: body.input.prompt, id })
    return vendor.answerSubmit(id)
  }

  function stopped(id: string) {
    vendor.cancels.push(id)
    return Response.json({ request_id: 'r' })
  }

  async function polled(id: string) {
    const atOnce = (running.get(id) ?? 0) + 1
    running.set(id, atOnce)
    vendor.mostAtOnce = Math.max(vendor.mostAtOnce, atOnce)
    vendor.polls.push(id)
    try {
      return await vendor.answerPoll(id)
    } finally {
      running.set(id, (running.get(id) ?? 1) - 1)
    }
  }

  const vendor: TaskVendor & Disposable = {
    upstream: { kind: 'dashscope', baseUrl: `http://127.0.0.1:${server.port}`, apiKey: 'none' },
    submits: [],
    polls: [],
    cancels: [],
    mostAtOnce: 0,
    answerSubmit: taken,
    answerPoll: working,
    [Symbol.dispose]() {
      void server.stop(true)
    },
  }
  return vendor
}

/** Answers that the vendor has accepted the task. */
export function taken(id: string): Response {
  return Response.json({ request_id: 'r', output: { task_status: 'PENDING', task_id: id } })
}

/** Answers that the task is not ready. */
export function working(id: string): Response {
  return Response.json({ request_id: 'r', output: { task_id: id, task_status: 'RUNNING' } })
}

export function succeeded(id: string): Response {
  const output = { task_id: id, task_status: 'SUCCEEDED', video_url: `https://files.example.com/${id}.mp4` }
  return Response.json({ request_id: 'r', output, usage: { duration: VIDEO_SECONDS, video_count: 1 } })
}

export function failed(id: string): Response {
  const why = { code: 'InvalidParameter', message: 'The size is not match' }
  return Response.json({ request_id: 'r', output: { task_id: id, task_status: 'FAILED', ...why } })
}

/** An answer that is withheld until the test releases it for all waiting requests. */
export function heldBack(answer: (id: string) => Response) {
  const gate = Promise.withResolvers<void>()
  return {
    letGo: gate.resolve,
    answer: async (id: string) => {
      await gate.promise
      return answer(id)
    },
  }
}
