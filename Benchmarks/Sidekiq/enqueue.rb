# Enqueues for the benchmark: `enqueue.rb bulk|single|paced COUNT`; prints how many and how long that took, in seconds.
require "sidekiq"
require "json"

# The Redis gem warns at each SADD of this Sidekiq, which costs time: take the answer that it recommends.
Redis.sadd_returns_boolean = false

Sidekiq.configure_client { |config| config.redis = { url: ENV.fetch("BENCH_REDIS") } }

class NoOp
  include Sidekiq::Worker
end

class Timed
  include Sidekiq::Worker
end

def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

mode, count = ARGV[0], Integer(ARGV[1])
Sidekiq.redis(&:ping)
start = monotonic
pushed = 0
case mode
when "bulk"
  (0...count).each_slice(1000) do |numbers|
    pushed += Sidekiq::Client.push_bulk("class" => NoOp, "args" => numbers.map { |number| [number] }).size
  end
when "single"
  count.times { |number| pushed += 1 if NoOp.perform_async(number) }
when "paced"
  rate = Float(ARGV[2])
  count.times do |number|
    pause = start + number / rate - monotonic
    sleep pause if pause.positive?
    pushed += 1 if Timed.perform_async(Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond))
  end
end
puts JSON.generate(count: pushed, seconds: monotonic - start)
