// Records from the microphone, for a transcription. Nothing is recorded before it is requested, and the microphone is released with
// the end of the recording or of the page.

import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api'
import { keyTexts } from '../texts'

const words = keyTexts.playground
/** Maximum length of a recording, in milliseconds. */
const MAX_MS = 10 * 60_000

interface RecorderProps {
  done(file: File): void
  failed(error: ApiError): void
}

export function Recorder({ done, failed }: RecorderProps) {
  const recording = useRef<MediaRecorder | null>(null)
  const isGone = useRef(false)
  const [isOn, setOn] = useState(false)
  const stop = () => recording.current?.state === 'recording' && recording.current.stop()
  useEffect(
    () => () => {
      isGone.current = true
      stop()
    },
    [],
  )
  const start = async () => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
      // The page may be left while the browser asks for permission.
      if (isGone.current) return release(stream)
      const recorder = new MediaRecorder(stream)
      const pieces: Blob[] = []
      recorder.ondataavailable = ({ data }) => pieces.push(data)
      recorder.onstop = () => {
        release(stream)
        setOn(false)
        const [type = 'audio/webm'] = recorder.mimeType.split(';')
        done(new File(pieces, words.recording, { type }))
      }
      recording.current = recorder
      recorder.start()
      setTimeout(() => recorder.state === 'recording' && recorder.stop(), MAX_MS)
      setOn(true)
    } catch {
      failed(new ApiError(words.noMicrophone, 0, null, null))
    }
  }
  return (
    <button type="button" aria-pressed={isOn} onClick={() => (isOn ? stop() : void start())}>
      {isOn ? words.stopRecording : words.record}
    </button>
  )
}

function release(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop()
}
