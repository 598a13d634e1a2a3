// The worker that reads the duration of audio; the only file that loads the demuxer. It trusts the packets of a file, not its
// header. A malicious file may keep it busy forever, so callers must never wait for it without a limit.

import { ADTS, BlobSource, FLAC, Input, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } from 'mediabunny'
import { hasTrueFrames, MAX_HEADER_BYTES } from '../lib/file-formats/wav'

const formats = [WAVE, MP3, MP4, QTFF, OGG, FLAC, WEBM, MATROSKA, ADTS]

declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<Blob>) => self.postMessage(await secondsOf(data))
// The demuxer is loaded.
self.postMessage('ready')

/** Seconds; undefined if the file is unreadable or has no audio. */
async function secondsOf(file: Blob): Promise<number | undefined> {
  try {
    if (!hasTrueFrames(Buffer.from(await file.slice(0, MAX_HEADER_BYTES).bytes()))) return undefined
    const track = await new Input({ source: new BlobSource(file), formats }).getPrimaryAudioTrack()
    return await track?.computeDuration()
  } catch {
    return undefined
  }
}
