(* Proofs by induction over the steps of iterations: maps that are applied so and so often to what they started with.

   Iterates are inputs: the statement says of each that it is what a map makes of a start in so many steps, where all move together
   and the image at a step may depend on the number of that step.  Invariants are equations in variables that stand for what moves.
   They are shown of the starts, and of the images where they hold before; then they hold of the iterates. *)
From Coq Require Import ZArith NArith.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum reals.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Tables Slopes Statements Claims.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* the input `iterated`, the variable of the map and its indices; `next` is the image's own number, where one is shown *)
Record iterate := Iterate {
  iterated : nat; variable : nat; next : nat; own : seq index; start : expr; image : formula }.

Fixpoint find_by (f : iterate -> nat) (its : seq iterate) (k : nat) : option iterate := match its with
  | [::] => None | it :: its' => if f it == k then Some it else find_by f its' k end.
(* the entries of variables as those of other numbers, with more indices *)
Fixpoint relabelled (its : seq iterate) (f : iterate -> nat) (more : seq index) (e : expr) : expr := match e with
  | Entry k vs => if find_by variable its k is Some it then Entry (f it) (vs ++ more) else e
  | Add a b => Add (relabelled its f more a) (relabelled its f more b)
  | Mul a b => Mul (relabelled its f more a) (relabelled its f more b)
  | Sum v a => Sum v (relabelled its f more a)
  | _ => e end.

(* ----------------------------------------------------------------------------------------------------- what is stated *)
Section Statement.
Variables (R : realType) (size_of : nat -> nat) (scalar : nat -> R).
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (input : nat -> seq nat -> R) (its : seq iterate) (clock : seq index).
(* `moving t k` is variable k after t steps *)
Variables (moving : nat -> nat -> seq nat -> R) (count : nat).

Definition after (t : nat) (k : nat) : seq nat -> R := if find_by variable its k is Some _ then moving t k else input k.
Definition at_step (t : nat) (r : environment) : bool := all (fun q => r q == t) clock.
(* the clock is empty, or an index that has the number of the step in images, and as many values as there are steps *)
Definition moves : Prop :=
  [/\ all (fun q : index => size_of q.2 == count) clock,
      forall it, List.In it its -> forall r, valid size_of r ->
        moving 0 (variable it) (map r (own it)) = meaning size_of scalar (entries_of size_of scalar arbitrary T input) r (start it),
      forall it t, List.In it its -> (t < count)%N -> forall r, valid size_of r -> at_step t r ->
        moving t.+1 (variable it) (map r (own it)) = formula_value size_of scalar arbitrary T (after t) (fun=> None) r (image it)
    & forall it, List.In it its -> forall r, valid size_of r ->
        input (iterated it) (map r (own it)) = moving count (variable it) (map r (own it))].
End Statement.

Definition always_of_iterates (T : table) (given : seq condition) (hypotheses : seq equation) (its : seq iterate)
    (clock : seq index) (h : formula * formula) : Prop :=
  forall (R : realType) (arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R) (size_of : nat -> nat)
    (scalar : nat -> R) (input : nat -> seq nat -> R) (moving : nat -> nat -> seq nat -> R) (count : nat),
  (forall s, 0 < size_of s)%N -> (forall n, 0 < scalar n) ->
  (forall c, List.In c given -> condition_holds size_of scalar arbitrary T input c) ->
  (forall g, List.In g hypotheses -> holds size_of (power size_of scalar) (entries_of size_of scalar arbitrary T input) g) ->
  moves size_of scalar arbitrary T input its clock moving count ->
  comes_true size_of scalar arbitrary T input h.

(* --------------------------------------------------------------------------------------------------------- the checker *)
Section Check.
Variables (T : table) (its : seq iterate) (clock : seq index).

Definition variables := [seq variable it | it <- its].
Definition nexts := [seq next it | it <- its].
(* what depends on none of these *)
Definition still (ks : seq nat) (k : nat) : bool := ~~ seq.has (fun j => depends T j k) ks.
Definition still_expr (ks : seq nat) (e : expr) : bool := all (still ks) (numbers e).
(* variables stand outside of functions, with as many indices as they have, and no sum is over the clock *)
Fixpoint plain (e : expr) : bool := match e with
  | Entry k vs => if find_by variable its k is Some it then sizes vs == sizes (own it) else still (variables ++ nexts) k
  | Add a b | Mul a b => plain a && plain b
  | Sum v a => (v \notin clock) && plain a
  | _ => true end.
Definition is_input (k : nat) : bool := if find T k is Some _ then false else true.
(* no two move as one variable, nor are two one input: there might be no inputs that are both, of which all is true *)
Definition distinct : bool := uniq variables && uniq [seq iterated it | it <- its].
Definition well_named : bool :=
  [&& uniq nexts, all (fun k => k \notin variables) nexts, all is_input (variables ++ nexts) & all (fun it => is_input (iterated it)) its].
Definition iterate_formed (it : iterate) : bool :=
  let e := lower T (image it) in
  [&& uniq (own it ++ clock), still_expr (variables ++ nexts) (start it), proper T [::] [::] (image it), still_expr nexts e
    & all (fun w => w \in own it ++ clock) (free e)].
Definition invariant_formed (h : equation) : bool :=
  [&& plain h.1, plain h.2 & all (fun w => w \notin clock) (free h.1 ++ free h.2)].

Definition starts : seq equation := [seq (Entry (variable it) (own it), start it) | it <- its].
Definition images : seq equation := [seq (Entry (next it) (own it ++ clock), lower T (image it)) | it <- its].
Definition relabelled_eq (f : iterate -> nat) (more : seq index) (h : equation) : equation :=
  (relabelled its f more h.1, relabelled its f more h.2).
(* each of the equations by its proof, after steps that all have *)
Definition all_proved (given : seq condition) (known : seq equation) (ss : seq step) (hs : seq equation) (ps : seq proof) : bool :=
  (size ps == size hs) &&
  (if derive_all T given known ss is Some all_known then all (fun hp => shown all_known hp.1 hp.2) (zip hs ps) else false).
Record induction := Induction {
  invariants : seq equation;
  at_start : seq step; start_proofs : seq proof;
  at_image : seq step; image_proofs : seq proof }.
Definition induction_right (hypotheses : seq equation) (d : induction) : bool :=
  [&& well_named, all iterate_formed its, all invariant_formed (invariants d),
      all (fun h : equation => still_expr (variables ++ nexts) h.1 && still_expr (variables ++ nexts) h.2) hypotheses
    & all_proved [::] (hypotheses ++ starts) (at_start d) (invariants d) (start_proofs d)
      && all_proved [::] (hypotheses ++ invariants d ++ images) (at_image d)
        [seq relabelled_eq next clock h | h <- invariants d] (image_proofs d)].
Definition accepts_by_induction (given : seq condition) (hypotheses : seq equation) (d : induction) (ss : seq step)
    (h : formula * formula) (p : proof) : bool :=
  [&& distinct, well_formed T, proper T given [::] h.1, proper T given [::] h.2, induction_right hypotheses d
    & proves T given (hypotheses ++ [seq relabelled_eq iterated [::] g | g <- invariants d]) ss (lower T h.1, lower T h.2) p].
End Check.

(* ------------------------------------------------------------------------------------------------------------- meaning *)
Lemma find_by_in f its k it : find_by f its k = Some it -> List.In it its /\ f it = k.
Proof.
elim: its => [|i its IH] //=; case: eqP => [E [<-]|_ /IH [I E]]; first by split; [left|].
by split; [right|].
Qed.
Lemma find_by_none f its k : find_by f its k = None -> k \notin [seq f it | it <- its].
Proof. by elim: its => [|i its IH] //=; rewrite inE eq_sym; case: eqP => //= _ /IH. Qed.
Lemma named (f : iterate -> nat) its it : List.In it its -> f it \in [seq f i | i <- its].
Proof. by elim: its => [|i its IH] //= [->|/IH]; rewrite inE ?eqxx // => ->; rewrite orbT. Qed.
Lemma find_by_uniq f its it : uniq [seq f it | it <- its] -> List.In it its -> find_by f its (f it) = Some it.
Proof.
elim: its => [|i its IH] //= /andP[fresh un] [->|I]; first by rewrite eqxx.
case: eqP => [E|_]; last exact: IH.
by have := named f I; rewrite -E (negPf fresh).
Qed.
Lemma in_cat_or A (x : A) s t : List.In x (s ++ t) -> List.In x s \/ List.In x t.
Proof. by elim: s => [|y s IH] /=; [right|case=> [->|/IH [H|H]]; auto]. Qed.
Lemma in_map_ex A B (f : A -> B) (y : B) s : List.In y [seq f x | x <- s] -> exists2 x, List.In x s & y = f x.
Proof. by elim: s => [|x s IH] //= [<-|/IH [z I E]]; [exists x; auto | exists z; auto]. Qed.
Lemma all_in A (p : A -> bool) s x : all p s -> List.In x s -> p x.
Proof. by elim: s => [|y s IH] //= /andP[P /IH A'] [<-|]. Qed.

Section Real.
Variable R : realType.
Variable size_of : nat -> nat.
Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Variable scalar : nat -> R.
Hypothesis scalars_positive : forall n, 0 < scalar n.
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (its : seq iterate) (clock : seq index).
Hypothesis T_formed : well_formed T.
Local Notation entries world := (entries_of size_of scalar arbitrary T world).
Local Notation val world r e := (meaning size_of scalar (entries world) r e).
Local Notation true_in world := (holds size_of (power size_of scalar) (entries world)).
Local Notation ok := (valid size_of).

Lemma all_proved_right world given known ss hs ps :
  (forall c, List.In c given -> condition_holds size_of scalar arbitrary T world c) ->
  (forall g, List.In g known -> true_in world g) -> all_proved T given known ss hs ps ->
  forall g, List.In g hs -> true_in world g.
Proof.
move=> G H /andP[/eqP sz]; case D: (derive_all _ _ _ _) => [all_known|] // A.
have K g : List.In g all_known -> true_in world g.
  elim: ss known H D => [|s ss IH] known H /=; first by case=> <-; exact: H.
  case E: (derive _ _ _ _) => [h|] // D; apply: (IH (rcons known h)) => // g' I.
  have : List.In g' known \/ h = g'.
    by elim: known I {H E D} => [|x known IHk] /= [->|]; auto; case/IHk; auto.
  by case=> [/H //|<-]; exact: (derive_correct sizes_positive scalars_positive T_formed G H E).
elim: hs ps sz A => [|h hs IH] [|p ps] //= [sz] /andP[P A] g [<-|]; last exact: IH A g.
exact: (shown_holds sizes_positive scalars_positive K P).
Qed.

Lemma entries_input world k xs : is_input T k -> entries world k xs = world k xs.
Proof.
rewrite /is_input; elim: T => [|[j n] T' IH] //=; rewrite eq_sym; case: eqP => // _; exact: IH.
Qed.
Lemma depends_self k : depends T k k. Proof. by case: T => [|[j n] T'] /=; rewrite eqxx. Qed.
(* what depends on none of these numbers is the same where all others are *)
Lemma still_entries A B ks : all (is_input T) ks -> (forall k, k \notin ks -> A k =1 B k) ->
  forall k, still T ks k -> entries A k =1 entries B k.
Proof.
move=> inputs same; elim/(table_ind T_formed) => [k F|k n F IH] S xs.
  have I : is_input T k by rewrite /is_input F.
  rewrite !entries_input //; apply: same; apply: contra S => kk.
  by apply/hasP; exists k => //; exact: depends_self.
have [_ ->] := find_value size_of scalar arbitrary A T_formed F.
have [_ ->] := find_value size_of scalar arbitrary B T_formed F.
apply: node_value_eq => t tn; apply: IH => //; apply: contra S => /hasP[j jk D]; apply/hasP; exists j => //.
have kj : k != j by apply: contraTneq (allP inputs _ jk) => <-; rewrite /is_input F.
by rewrite (depends_eq T_formed F kj); apply/hasP; exists t.
Qed.
Lemma still_value A B ks e r : all (is_input T) ks -> (forall k, k \notin ks -> A k =1 B k) ->
  still_expr T ks e -> val A r e = val B r e.
Proof. by move=> I same /allP S; apply: meaning_entries => t /S; exact: still_entries. Qed.
Lemma still_less ks js k : still T (ks ++ js) k -> still T js k.
Proof. by rewrite /still has_cat negb_or => /andP[]. Qed.

(* variables in one world are other inputs in another one *)
Lemma relabelled_value A B f more (Q : environment -> Prop) e r : all (is_input T) (variables its ++ nexts its) ->
  (forall k, k \notin variables its ++ nexts its -> A k =1 B k) ->
  (forall it, List.In it its -> is_input T (f it)) ->
  (forall it vs r, List.In it its -> sizes vs = sizes (own it) -> ok r -> Q r ->
    A (variable it) (map r vs) = B (f it) (map r (vs ++ more))) ->
  (forall r v x, v \notin clock -> Q r -> Q (update r v x)) ->
  plain T its clock e -> ok r -> Q r -> val A r e = val B r (relabelled its f more e).
Proof.
move=> inputs same If H U; elim: e r => [q|b q|i j|k vs|a IHa b IHb|a IHa b IHb|v a IHa] r //=.
- case F: (find_by _ _ _) => [it|] P rV rt; last exact: (still_entries inputs same P).
  have [I <-] := find_by_in F; rewrite /meaning /= !entries_input ?If //; first by apply: H => //; apply/eqP.
  by apply: (allP inputs); rewrite mem_cat (named variable I).
- by case/andP => Pa Pb rV rt; rewrite /meaning /= -/(val A r a) -/(val A r b) IHa // IHb.
- by case/andP => Pa Pb rV rt; rewrite /meaning /= -/(val A r a) -/(val A r b) IHa // IHb.
case/andP => vc P rV rt; apply: eq_big_nat => x /andP[_ xn]; apply: IHa => //; first exact: update_valid.
exact: U.
Qed.

Variables (input : nat -> seq nat -> R) (moving : nat -> nat -> seq nat -> R) (count : nat).
Local Notation at_time := (after input its moving).
Hypothesis M : moves size_of scalar arbitrary T input its clock moving count.
Variables (hypotheses : seq equation) (d : induction).
Hypothesis right : induction_right T its clock hypotheses d.
Hypothesis given : forall g, List.In g hypotheses -> true_in input g.

Let ks := variables its ++ nexts its.
Lemma names_right : well_named T its. Proof. by case/and5P: right. Qed.
Lemma inputs_right : all (is_input T) ks. Proof. by case/and4P: names_right. Qed.
Lemma after_variable t it : List.In it its -> at_time t (variable it) = moving t (variable it).
Proof.
by move=> I; rewrite /after; case E: (find_by _ _ _) => [//|]; have := find_by_none E; rewrite (named variable I).
Qed.
Lemma after_other t k : k \notin ks -> at_time t k =1 input k.
Proof.
rewrite mem_cat negb_or => /andP[kv _] xs; rewrite /after; case F: (find_by _ _ _) => [it|] //.
have [I E] := find_by_in F; by move: kv; rewrite -E (named variable I).
Qed.
Lemma hypotheses_after A : (forall k, k \notin ks -> A k =1 input k) -> forall g, List.In g hypotheses -> true_in A g.
Proof.
move=> same g I r rV; have /and5P[_ _ _ S /andP[_ _]] := right; have /andP[S1 S2] := all_in S I.
rewrite -[LHS]/(val A r g.1) -[RHS]/(val A r g.2) (still_value _ inputs_right same S1) (still_value _ inputs_right same S2).
exact: given.
Qed.

(* the value of variables along other indices of the same sizes *)
Lemma placed_at it vs r : List.In it its -> sizes vs = sizes (own it) -> ok r ->
  let r' := assigned (own it ++ clock) (map r vs ++ map r clock) nowhere in
  [/\ ok r', map r' (own it) = map r vs & map r' clock = map r clock].
Proof.
move=> I E rV r'; have /and5P[_ F _ _ /andP[_ _]] := right; have /and5P[un _ _ _ _] := all_in F I.
have sz : size vs = size (own it) by rewrite -(size_map snd vs) -(size_map snd (own it)) -/(sizes _) E.
have A : map r' (own it ++ clock) = map r vs ++ map r clock by apply: assigned_map => //; rewrite !size_cat !size_map sz.
split.
- apply: assigned_valid; first exact: nowhere_valid.
  have L : lengths size_of (own it ++ clock) = lengths size_of (vs ++ clock).
    by apply: lengths_sizes; rewrite /sizes !map_cat -/(sizes _) -E.
  by rewrite L -map_cat; exact: valid_within.
- by move: A; rewrite map_cat => /(congr1 (take (size vs))); rewrite !take_size_cat ?size_map.
by move: A; rewrite map_cat => /(congr1 (drop (size vs))); rewrite !drop_size_cat ?size_map.
Qed.

Lemma starts_right g : List.In g (starts its) -> true_in (at_time 0) g.
Proof.
rewrite /starts => J r rV; have [it I ->] := in_map_ex J; have [_ H _ _] := M; have /and5P[_ F _ _ /andP[_ _]] := right; have /and5P[_ S _ _ _] := all_in F I.
rewrite -[RHS]/(val (at_time 0) r (start it)) (still_value _ inputs_right (@after_other 0) S) -H //.
rewrite /= entries_input; last first.
  by apply: (allP inputs_right); rewrite mem_cat (named variable I).
by rewrite after_variable.
Qed.
Lemma invariants_at_start h : List.In h (invariants d) -> true_in (at_time 0) h.
Proof.
move=> I; have /and5P[_ _ _ _ /andP[P _]] := right; apply: (all_proved_right _ _ P) I => // g Ig; have [J|] := in_cat_or Ig.
  exact: (hypotheses_after (@after_other 0) J).
exact: starts_right.
Qed.

(* the images too, at every step that there might be *)
Definition ahead (t : nat) (k : nat) : seq nat -> R :=
  if find_by next its k is Some it then
    fun xs => val (at_time t) (assigned (own it ++ clock) xs nowhere) (lower T (image it))
  else at_time t k.
Lemma ahead_other t k : k \notin nexts its -> ahead t k =1 at_time t k.
Proof.
move=> kn xs; rewrite /ahead; case F: (find_by _ _ _) => [it|] //; have [I E] := find_by_in F.
by move: kn; rewrite -E (named next I).
Qed.
Lemma nexts_inputs : all (is_input T) (nexts its).
Proof. by have := inputs_right; rewrite all_cat => /andP[]. Qed.
Lemma ahead_next t it xs : List.In it its ->
  ahead t (next it) xs = val (at_time t) (assigned (own it ++ clock) xs nowhere) (lower T (image it)).
Proof. by move=> I; case/and4P: names_right => un _ _ _; rewrite /ahead (find_by_uniq un I). Qed.

Lemma images_right t g : List.In g (images T its clock) -> true_in (ahead t) g.
Proof.
rewrite /images => J r rV; have [it I ->] := in_map_ex J; have /and5P[_ F _ _ /andP[_ _]] := right; have /and5P[un _ _ S /allP fr] := all_in F I.
rewrite -[RHS]/(val (ahead t) r (lower T (image it))) (still_value _ nexts_inputs (@ahead_other t) S) /=.
rewrite entries_input; last first.
  by apply: (allP nexts_inputs); exact: (named next I).
rewrite (ahead_next t _ I); apply: meaning_free => w /fr wn; exact: assigned_in.
Qed.

Lemma invariants_next t h : (t < count)%N -> (forall g, List.In g (invariants d) -> true_in (at_time t) g) ->
  List.In h (invariants d) -> true_in (at_time t.+1) h.
Proof.
move=> tc IH I r rV; have /and5P[_ Fi Fv _ /andP[_ P]] := right; have /and3P[P1 P2 /allP fr] := all_in Fv I.
have [C _ Hm _] := M.
have other k : k \notin ks -> at_time t.+1 k =1 ahead t k.
  move=> kk xs; rewrite (after_other _ kk) ahead_other; first by rewrite (after_other _ kk).
  by move: kk; rewrite mem_cat negb_or => /andP[].
have moved_on it vs r' : List.In it its -> sizes vs = sizes (own it) -> ok r' -> at_step clock t r' ->
    at_time t.+1 (variable it) (map r' vs) = ahead t (next it) (map r' (vs ++ clock)).
  move=> J E r'V r't; have [V O K] := placed_at J E r'V; case/and4P: names_right => un _ _ _.
  rewrite /ahead (find_by_uniq un J) map_cat; set r2 := assigned _ _ _ in V O K *.
  have r2t : at_step clock t r2.
    apply/allP => q qc; have := congr1 (fun s => nth 0%N s (seq.index q clock)) K.
    by rewrite !(nth_map q) ?index_mem // nth_index // => ->; exact: (allP r't).
  have /and5P[_ _ Pr _ _] := all_in Fi J; have := Hm it t J tc r2 V r2t; rewrite O => S.
  have none : within_scope (R := R) [::] (fun=> None) by move=> k; case.
  have noc c : List.In c [::] -> condition_in size_of scalar T (entries_at size_of scalar arbitrary (at_time t) T (fun=> None)) c by [].
  have [_ W] := formula_right sizes_positive scalars_positive T_formed Pr isT none noc V.
  by rewrite W entries_at_none in S; rewrite -S after_variable.
have nexts_in it : List.In it its -> is_input T (next it).
  by move=> J; apply: (allP nexts_inputs); exact: (named next J).
have image_holds : true_in (ahead t) (relabelled_eq its next clock h).
  apply: (all_proved_right _ _ P) => [//|g Ig|]; last by elim: (invariants d) I => [|g gs IHg] //= [->|/IHg]; auto.
  have [J|Ig'] := in_cat_or Ig; last have [J|] := in_cat_or Ig'.
  - apply: (hypotheses_after _ J) => k kk xs; rewrite ahead_other ?(after_other _ kk) //.
    by move: kk; rewrite mem_cat negb_or => /andP[].
  - have /and3P[Q1 Q2 _] := all_in Fv J => r' r'V; have := IH g J r' r'V.
    have same e : plain T its clock e -> val (ahead t) r' e = val (at_time t) r' e.
      move=> Q; apply: meaning_entries => k ke; apply: (still_entries nexts_inputs (@ahead_other t)).
      elim: e Q ke => [q|b q|i j|k' vs|a IHa b IHb|a IHa b IHb|v a IHa] //=; rewrite ?inE.
      + case F: (find_by _ _ _) => [it|] Q /eqP -> //; last exact: still_less Q.
        have [I' <-] := find_by_in F; apply/hasPn => j jn; case/and4P: names_right => _ /allP D /allP Ia _.
        have inp : find T (variable it) = None.
          have : is_input T (variable it).
            by apply: Ia; rewrite mem_cat (named variable I').
          by rewrite /is_input; case: (find T _).
        rewrite (depends_input inp) //; by apply: contraNneq (D _ jn) => <-; exact: (named variable I').
      + by case/andP => Qa Qb; rewrite mem_cat => /orP[/(IHa Qa)|/(IHb Qb)].
      + by case/andP => Qa Qb; rewrite mem_cat => /orP[/(IHa Qa)|/(IHb Qb)].
      by case/andP => _ Q /(IHa Q).
    by rewrite -[X in X = _]/(val (at_time t) r' g.1) -[X in _ = X]/(val (at_time t) r' g.2) -!same.
  exact: images_right.
have stays r' v x : v \notin clock -> at_step clock t r' -> at_step clock t (update r' v x).
  move=> vc /allP H; apply/allP => w wc; rewrite update_other; first exact: H.
  by apply: contraNneq vc => <-.
pose r1 := assigned clock (nseq (size clock) t) r.
have r1t : at_step clock t r1.
  have aux cs r' : all (fun q => (q \in cs) || (r' q == t)) clock -> at_step clock t (assigned cs (nseq (size cs) t) r').
    elim: cs r' => [|c cs IHc] r' H /=; first by apply: sub_all H => q; rewrite in_nil.
    apply: IHc; apply: sub_all H => q; rewrite inE /update.
    by case: (q =P c) => [->|_] //; rewrite eqxx orbT.
  by apply: aux; apply/allP => q ->.
have r1V : ok r1.
  apply: assigned_valid => //; elim: (clock) C => [|q qs IHq] //= /andP[/eqP -> /IHq ->].
  by rewrite tc.
have free_same e : {in free e, forall w, w \notin clock} -> val (at_time t.+1) r e = val (at_time t.+1) r1 e.
  by move=> E; apply: meaning_free => w /E wc; rewrite /r1 assigned_notin.
rewrite -[LHS]/(val (at_time t.+1) r h.1) -[RHS]/(val (at_time t.+1) r h.2).
rewrite !free_same; try by move=> w wf; apply: fr; rewrite mem_cat wf ?orbT.
rewrite (relabelled_value inputs_right other nexts_in moved_on stays P1 r1V r1t).
rewrite (relabelled_value inputs_right other nexts_in moved_on stays P2 r1V r1t).
exact: image_holds.
Qed.

Lemma invariants_after t h : (t <= count)%N -> List.In h (invariants d) -> true_in (at_time t) h.
Proof.
elim: t h => [|t IH] h tc; first exact: invariants_at_start.
by apply: invariants_next => // g; apply: IH; exact: ltnW.
Qed.
Lemma invariants_arrived g : List.In g [seq relabelled_eq its iterated [::] g | g <- invariants d] -> true_in input g.
Proof.
move=> J r rV; have [h I ->] := in_map_ex J; have /and5P[_ _ Fv _ /andP[_ _]] := right; have /and3P[P1 P2 /allP fr] := all_in Fv I.
have [_ _ _ Hi] := M.
have arrived it vs r' : List.In it its -> sizes vs = sizes (own it) -> ok r' -> True ->
    at_time count (variable it) (map r' vs) = input (iterated it) (map r' (vs ++ [::])).
  move=> Ii E r'V _; have [V O _] := placed_at Ii E r'V; rewrite cats0 -O Hi // O.
  by rewrite after_variable.
have iterated_in it : List.In it its -> is_input T (iterated it) by case/and4P: names_right => _ _ _ A Ii; exact: (all_in A Ii).
have := invariants_after (leqnn count) I rV; rewrite -[X in X = _]/(val (at_time count) r h.1) -[X in _ = X]/(val (at_time count) r h.2).
rewrite (relabelled_value inputs_right (@after_other count) iterated_in arrived _ P1) //.
by rewrite (relabelled_value inputs_right (@after_other count) iterated_in arrived _ P2).
Qed.
End Real.

Theorem accepts_by_induction_correct T its clock given hypotheses d ss h p :
  accepts_by_induction T its clock given hypotheses d ss h p -> always_of_iterates T given hypotheses its clock h.
Proof.
case/andP => _ /and5P[wf Pl Pr D A] R arbitrary size_of scalar input moving count S0 P0 G H M.
apply: (lowered_comes_true S0 P0 wf Pl Pr G); apply: (proves_correct S0 P0 wf G A) => g Ig; have [/H //|] := in_cat_or Ig.
exact: (invariants_arrived S0 P0 wf M D H).
Qed.
