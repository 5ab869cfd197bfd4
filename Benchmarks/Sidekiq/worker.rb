# Loaded by `sidekiq -r`: a job that does nothing, one that says how long it waited, and a tally written when all are done.
require "sidekiq"
require "json"

# The Redis gem warns at each SADD of this Sidekiq, which costs time: take the answer that it recommends.
Redis.sadd_returns_boolean = false

Sidekiq.configure_server { |config| config.redis = { url: ENV.fetch("BENCH_REDIS") } }
Sidekiq.logger.level = Logger::WARN

module Tally
  TOTAL = Integer(ENV.fetch("BENCH_TOTAL"))
  @lock = Mutex.new
  @count = 0
  @samples = []

  def self.now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)

  def self.count(sample = nil)
    @lock.synchronize do
      @first ||= now
      @samples << sample if sample
      @count += 1
      write if @count == TOTAL
    end
  end

  def self.write
    path = ENV.fetch("BENCH_RESULT")
    File.write(path + ".part", JSON.generate(count: @count, first: @first, last: now, samples: @samples))
    File.rename(path + ".part", path)
  end
end

class NoOp
  include Sidekiq::Worker
  def perform(_number) = Tally.count
end

class Timed
  include Sidekiq::Worker
  def perform(at) = Tally.count(Tally.now - at)
end
