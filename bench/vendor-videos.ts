// The mock vendor's video tasks: each runs until the bench ends all of them. It records each poll. It must never decide by itself
// when a task ends, or treat one task differently from another.

/** One poll, and the vendor's answer. */
export interface Poll {
  upstreamId: string
  at: number
}

const VIDEOS_PATH = '/v1/videos/'
const SUBMIT = `POST ${VIDEOS_PATH}generations `
const POLL = `GET ${VIDEOS_PATH}`
const MODEL = 'grok-imagine-video'
const RUNNING = JSON.stringify({ status: 'pending', progress: 41, model: MODEL })
const DONE = JSON.stringify({
  status: 'done',
  video: { url: 'https://vidgen.example.com/9c1f/video.mp4', duration: 5, respect_moderation: true },
  model: MODEL,
  usage: { cost_in_usd_ticks: 2_500_000_000 },
  progress: 100,
})

export class VendorVideos {
  private submits = 0
  private ending = false
  private polls: Poll[] = []

  /** The JSON that answers a request; undefined for other requests. */
  answer(requestLine: string): string | undefined {
    if (requestLine.startsWith(SUBMIT)) return JSON.stringify({ request_id: `video-${++this.submits}` })
    if (requestLine.startsWith(POLL)) return this.poll(requestLine)
    if (requestLine.startsWith('GET /polls ')) return this.tellPolls()
    if (requestLine.startsWith('GET /end ')) return this.end()
    return undefined
  }

  private poll(requestLine: string): string {
    this.polls.push({
      upstreamId: requestLine.split(' ', 2)[1]?.slice(VIDEOS_PATH.length) ?? '',
      at: Date.now(),
    })
    return this.ending ? DONE : RUNNING
  }

  /** Returns the polls so far, and clears them. */
  private tellPolls(): string {
    const polls = this.polls
    this.polls = []
    return JSON.stringify(polls)
  }

  private end(): string {
    this.ending = true
    return '{}'
  }
}
