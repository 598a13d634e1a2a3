// The worker that reads how long audio lasts: the only file that loads the demuxer. It believes the packets of a file and
// not what its header says, and may never come back from a file that was made to hurt: who asks it must not wait for ever.

import { ADTS, BlobSource, FLAC, Input, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } from 'mediabunny'

const formats = [WAVE, MP3, MP4, QTFF, OGG, FLAC, WEBM, MATROSKA, ADTS]

declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<Blob>) => self.postMessage(await secondsOf(data))
// The demuxer is loaded.
self.postMessage('ready')

/** Undefined for what cannot be read, or has no audio. */
async function secondsOf(file: Blob): Promise<number | undefined> {
  try {
    const track = await new Input({ source: new BlobSource(file), formats }).getPrimaryAudioTrack()
    return await track?.computeDuration()
  } catch {
    return undefined
  }
}
