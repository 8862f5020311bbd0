set title 'Seconds by which the next ids of the members are ahead of true time (shaded: the registry is away)' textcolor '#1f2328'
eval mark_outages
set logscale y
set yrange [0.5:1000]
set xrange [0:45]
set xlabel 'minutes'
set format y '%g s'
plot data using ($1 / 60):3 with lines linestyle 2 title 'the worst of them, which restart every 10 s', \
     data using ($1 / 60):2 with lines linestyle 1 title '99th percentile', \
     60 with lines linestyle 3 dashtype 2 title 'a lease'
